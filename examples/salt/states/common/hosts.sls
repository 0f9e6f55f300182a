{%- from "common/map.jinja" import common with context %}

{%- for name, entry in common.hosts|dictsort %}
host_{{ name }}:
  host.present:
    - name: {{ name }}
    - ip: {{ entry.ip|json }}
  {%- if entry.aliases is defined %}
    - aliases: {{ entry.aliases|json }}
  {%- endif %}
{%- endfor %}
