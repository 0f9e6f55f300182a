{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import nginx, lookup with context %}

nginx_package:
  pkg.installed:
    - name: {{ lookup.package }}
  {%- if nginx.version %}
    - version: {{ nginx.version }}
  {%- endif %}
