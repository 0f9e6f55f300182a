{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import nginx, lookup with context %}

include:
  - nginx.package

nginx_snippets:
  file.recurse:
    - name: {{ lookup.conf_dir }}/snippets
    - source: salt://nginx/files/snippets
    - exclude_pat: '*.md'
    - user: root
    - group: root
    - file_mode: '0644'
    - dir_mode: '0755'
    - require:
      - pkg: nginx_package
    - listen_in:
      - service: nginx_service

{%- for name, lines in nginx.snippets.items() %}
nginx_snippet_{{ name }}:
  file.managed:
    - name: {{ lookup.conf_dir }}/snippets/{{ name }}.conf
    - contents: |
        {%- for line in lines %}
        {%- for directive, value in line.items() %}
        {{ directive }} {{ value|yaml_dquote }};
        {%- endfor %}
        {%- endfor %}
    - require:
      - file: nginx_snippets
    - watch_in:
      - service: nginx_service
{%- endfor %}
