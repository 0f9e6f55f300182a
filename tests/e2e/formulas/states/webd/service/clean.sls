# -*- coding: utf-8 -*-
# vim: ft=sls

{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import webd with context %}

webd-service-clean-service-dead:
  service.dead:
    - name: {{ webd.service.name }}
    - enable: False
