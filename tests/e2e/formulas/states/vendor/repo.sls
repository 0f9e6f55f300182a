{%- from slspath ~ "/map.jinja" import vendor with context %}
vendor-repo-key:
  file.managed:
    - name: /etc/apt/keyrings/vendor.asc
    - source: salt://vendor/files/vendor.asc
    - makedirs: true
vendor-repo:
  pkgrepo.managed:
    - name: deb [{{ vendor.repo.options }} signed-by=/etc/apt/keyrings/vendor.asc] {{ vendor.repo.url }} ./
    - humanname: {{ vendor.repo.humanname }}
    - file: {{ vendor.repo.file }}
    - aptkey: False
    - clean_file: True
    - refresh: {{ vendor.repo.get('refresh', true) }}
    - require:
      - file: vendor-repo-key
