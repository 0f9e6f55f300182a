# -*- coding: utf-8 -*-
# vim: ft=sls

{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_package_install = tplroot ~ '.package.install' %}
{%- from tplroot ~ "/map.jinja" import webd with context %}
{%- from tplroot ~ "/libtofs.jinja" import files_switch with context %}

include:
  - {{ sls_package_install }}

webd-config-file-file-managed:
  file.managed:
    - name: {{ webd.config.path }}
    - source:
{{ files_switch(['nginx.conf', 'nginx.conf.jinja'], lookup='webd-config-file-file-managed') }}
    - mode: 644
    - user: root
    - group: {{ webd.rootgroup }}
    - makedirs: True
    - template: jinja
    - require:
      - sls: {{ sls_package_install }}
    - context:
        webd: {{ webd | json }}

webd-config-file-default-absent:
  file.absent:
    - name: {{ webd.config.sites_dir }}/default
    - require:
      - sls: {{ sls_package_install }}
