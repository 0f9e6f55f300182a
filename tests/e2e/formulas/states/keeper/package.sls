{%- from tpldir ~ "/map.jinja" import keeper with context %}
keeper_pkg:
  pkg.installed:
    - name: {{ keeper.package }}
    - refresh: False
