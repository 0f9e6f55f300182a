{%- set sudoers = salt.pillar.get('platform:sudoers', {}) %}
{%- set included = sudoers.get('included_files', {}) %}
platform_sudoers:
  file.managed:
    - name: /etc/sudoers.platform
    - mode: 440
    - template: jinja
    - source: salt://platform/files/sudoers
    - check_cmd: test -s
    - context:
        included: False
        sudoers: {{ sudoers | json }}
{% for name, spec in included.items() %}
{% set path = name if '/' in name else '/etc/sudoers.d' ~ '/' ~ name %}
sudoers include {{ path }}:
  file.managed:
    - name: {{ path }}
    - user: root
    - mode: 440
    - makedirs: True
    - template: jinja
    - source: salt://platform/files/sudoers
    - context:
        included: True
        sudoers: {{ spec | json }}
    - require:
      - file: platform_sudoers
{% endfor %}
