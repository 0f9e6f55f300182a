{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_package_install = tplroot ~ '.package' %}
{%- from tplroot ~ "/map.jinja" import nginx, lookup with context %}

include:
  - {{ sls_package_install }}

nginx_config:
  file.managed:
    - name: {{ lookup.conf_dir }}/nginx.conf
    - source:
      - salt://{{ tplroot }}/files/{{ grains['id'] }}/nginx.conf.jinja
      - salt://{{ tplroot }}/files/{{ grains['os_family'] }}/nginx.conf.jinja
      - salt://{{ tplroot }}/files/nginx.conf.jinja
    - template: jinja
    - user: root
    - group: root
    - mode: '0644'
    - context:
        config: {{ nginx.config|json }}
        lookup: {{ lookup|json }}
    - check_cmd: {{ lookup.get('check_cmd', 'nginx -t -c') }}
    - require:
      - sls: {{ sls_package_install }}
    - watch_in:
      - service: nginx_service

nginx_log_dir:
  file.directory:
    - name: {{ lookup.log_dir }}
    - user: {{ lookup.webuser }}
    - group: adm
    - dir_mode: 755
    - file_mode: 640
    - recurse:
      - user
      - group
      - mode
    - require:
      - pkg: nginx_package
    - require_in:
      - service: nginx_service
