{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_service_clean = tplroot ~ '.service.clean' %}
{%- from tplroot ~ "/map.jinja" import clock with context %}
include:
  - {{ sls_service_clean }}
clock-config-clean-file-absent:
  file.absent:
    - names: {{ [clock.config, clock.keyfile] | tojson }}
    - require:
      - sls: {{ sls_service_clean }}
