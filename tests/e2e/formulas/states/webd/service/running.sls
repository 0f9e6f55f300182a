# -*- coding: utf-8 -*-
# vim: ft=sls

{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_config_file = tplroot ~ '.config.file' %}
{%- from tplroot ~ "/map.jinja" import webd with context %}

include:
  - {{ sls_config_file }}

webd-service-running-service-running:
  service.running:
    - name: {{ webd.service.name }}
    - enable: {{ webd.service.enable }}
    - watch:
      - sls: {{ sls_config_file }}
