{%- from "vendor/map.jinja" import vendor with context %}
{%- for name, wrapper in vendor.wrappers.items() %}
{%- set id = name | regex_replace('[^a-z]', '_') %}
vendor-wrapper-{{ id }}:
  file.managed:
    - name: /usr/local/bin/{{ name }}
    - mode: '0755'
    - contents: |
        #!/bin/sh
        {%- for option in wrapper.get('options', []) %}
        set -- "$@" {{ option }}
        {%- endfor %}
        exec {{ vendor.pkg.name }} "$@"
  {%- if wrapper.get('link') %}
vendor-wrapper-{{ id }}-link:
  file.symlink:
    - name: {{ wrapper.link }}
    - target: /usr/local/bin/{{ name }}
    - onchanges:
      - file: vendor-wrapper-{{ id }}
  {%- endif %}
{%- endfor %}
extend:
  vendor-package:
    pkg:
      - order: last
