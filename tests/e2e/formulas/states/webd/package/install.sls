# -*- coding: utf-8 -*-
# vim: ft=sls

{#- Get the `tplroot` from `tpldir` #}
{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import mapdata as _mapdata, webd with context %}

webd-package-install-pkg-installed:
  pkg.installed:
    - name: {{ webd.pkg.name }}
    - runas: root

{%- if webd.pkg.extra %}

webd-package-install-extra-installed:
  pkg.installed:
    - pkgs: {{ webd.pkg.extra | json }}
{%- endif %}
