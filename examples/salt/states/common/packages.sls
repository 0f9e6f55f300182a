{%- set packages = salt['pillar.get']('packages', {}) %}

wanted_packages:
  pkg.installed:
    - pkgs:
  {%- for package in packages.get('wanted', []) %}
    {%- if package is mapping %}
      {%- for name, version in package.items() %}
      - {{ name }}: {{ version|yaml_dquote }}
      {%- endfor %}
    {%- else %}
      - {{ package }}
    {%- endif %}
  {%- endfor %}

{%- if packages.unwanted is defined %}
unwanted_packages:
  pkg.purged:
    - pkgs: {{ packages.unwanted|json }}
{%- endif %}

{%- for name in packages.get('held', []) %}
hold_{{ name }}:
  pkg.held:
    - name: {{ name }}
    - require:
      - pkg: wanted_packages
{%- endfor %}

{%- for name, path in packages.get('alternatives', {}).items() %}
alternative_{{ name }}:
  alternatives.set:
    - name: {{ name }}
    - path: {{ path }}
    - require:
      - pkg: wanted_packages
{%- endfor %}
