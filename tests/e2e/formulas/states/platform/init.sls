#!jinja|yaml
{%- set p = salt['pillar.get']('platform', {}) -%}
{%- macro params(d) -%}
{%- for k in d.keys() | sort %}
    - {{ k }}: {{ d[k] | yaml_encode }}
{%- endfor -%}
{%- endmacro %}
include:
  - .sudoers
  - .kernel

{% if p.get('timezone') -%}
platform_timezone:
  timezone.system:
    - name: {{ p.timezone.name }}
    - utc: {{ p.timezone.get('utc', True) }}
{% endif %}
{% for name in p.get('locales', []) %}
platform_locale_{{ loop.index }}:
  locale.present:
    - name: {{ name }}
{% if loop.first %}
platform_locale_default:
  locale.system:
    - name: {{ name }}
    - require:
      - locale: platform_locale_{{ loop.index }}
{% endif %}
{% endfor %}
{% for path, values in p.get('files', {}).items() %}
{{ path }}:
  file.managed:{{ params(values) }}
{% endfor %}
platform_profile:
  file.managed:
    - name: /etc/profile.d/platform.sh
    - contents: |
        {%- for k, v in p.get('environment', {}) | dictsort(false, 'key') %}
        export {{ k }}={{ v | string | tojson }}
        {%- endfor %}
