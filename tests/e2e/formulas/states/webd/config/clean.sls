# -*- coding: utf-8 -*-
# vim: ft=sls

{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_service_clean = tplroot ~ '.service.clean' %}
{%- from tplroot ~ "/map.jinja" import webd with context %}

include:
  - {{ sls_service_clean }}

webd-config-clean-file-absent:
  file.absent:
    - names:
      - {{ webd.config.path }}
      {%- for name in webd.sites %}
      - {{ webd.config.sites_dir }}/{{ name }}
      {%- endfor %}
    - require:
      - sls: {{ sls_service_clean }}
