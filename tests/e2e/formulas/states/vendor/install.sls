{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import vendor with context %}
    {%- if vendor.pkg.use_upstream == 'repo' %}
{%- set sls_repo = tplroot ~ '.repo' %}
include:
  - {{ sls_repo }}
    {%- endif %}

vendor-deps:
  pkg.installed:
    - pkgs: {{ vendor.pkg.deps | unique | json }}
    - require_in:
      - pkg: vendor-package
vendor-package:
  pkg.installed:
    - name: {{ vendor.pkg.name }}
    {%- if vendor.pkg.get('version') %}
    - version: {{ vendor.pkg.version }}
    {%- endif %}
    - reload_modules: {{ vendor.get('reload', true) }}
    - require:
      - sls: {{ sls_repo }}
    - onfail_in:
      - test: vendor-note
vendor-note:
  test.show_notification:
    - text: |
        In case of trouble:
          1. look at {{ vendor.repo.file }}
vendor-alternative:
  alternatives.set:
    - name: toy-editor
    - path: /usr/bin/{{ vendor.pkg.name }}
    - require: [{pkg: vendor-package}]
    - onlyif: command -v {{ vendor.pkg.name }}
