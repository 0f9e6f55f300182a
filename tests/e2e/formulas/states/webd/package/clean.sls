# -*- coding: utf-8 -*-
# vim: ft=sls

{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_config_clean = tplroot ~ '.config.clean' %}
{%- from tplroot ~ "/map.jinja" import webd with context %}

include:
  - {{ sls_config_clean }}

webd-package-clean-pkg-removed:
  pkg.removed:
    - name: {{ webd.pkg.name }}
    - require:
      - sls: {{ sls_config_clean }}
