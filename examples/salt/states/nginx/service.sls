{%- from "nginx/map.jinja" import nginx, lookup with context %}

include:
  - nginx.config

nginx_service:
  service.running:
    - name: {{ lookup.service }}
    - enable: True
    - reload: True
    - require:
      - pkg: nginx_package
    - watch:
      - file: nginx_config
    - retry:
        attempts: 2
        interval: 1
