# -*- coding: utf-8 -*-
# vim: ft=sls
# Includes its parent, which includes it: each is read once.

{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import webd with context %}
{%- from tplroot ~ "/libtofs.jinja" import files_switch with context %}

include:
  - {{ tplroot }}
  - {{ tplroot }}.service

{%- for name, site in webd.sites | dictsort %}
{%-   set enabled = salt['slsutil.boolstr'](site.get('enabled', true), true='on', false='off') %}

webd-site-{{ name }}-root:
  file.recurse:
    - name: {{ site.root }}
    - source: salt://{{ tplroot }}/files/default/www
    - file_mode: '0644'
    - dir_mode: '0755'
    - template: jinja
    - defaults:
        title: {{ site.get('title', name) | yaml_encode }}

{%-   if enabled == 'on' %}

webd-site-{{ name }}-managed:
  file.managed:
    - name: {{ webd.config.sites_dir }}/{{ name }}
    - source:
{{ files_switch(['site.conf.jinja'], lookup='webd-site-managed', use_subpath=true) }}
    - template: jinja
    - context:
        tplroot: {{ tplroot }}
        site_name: {{ name }}
        site: {{ site | yaml }}
    - require:
      - file: webd-site-{{ name }}-root
      - sls: {{ tplroot }}.package.install
    - watch_in:
      - service: webd-service-running-service-running
{%-   endif %}
{%- endfor %}
