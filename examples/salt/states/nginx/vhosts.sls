{%- from "nginx/map.jinja" import nginx, lookup with context %}
{%- from "nginx/macros.jinja" import vhost_path %}

include:
  - nginx.package

nginx_vhost_dirs:
  file.directory:
    - names:
      - {{ lookup.conf_dir }}/{{ lookup.vhost_available }}
      - {{ lookup.conf_dir }}/{{ lookup.vhost_enabled }}
    - mode: 755
    - require:
      - pkg: nginx_package

{%- for name, vhost in nginx.vhosts.items() %}
  {%- set enabled = vhost.get('enabled', True) %}
  {%- if enabled %}

nginx_vhost_{{ name }}:
  file.managed:
    - name: {{ vhost_path(lookup, name) }}
    - source: salt://nginx/files/vhost.conf.jinja
    - template: jinja
    - defaults:
        listen: 80
        locations: {}
        snippets: []
    - context:
        name: {{ name }}
        server_name: {{ vhost.server_name|join(' ') }}
        {%- for key in ('listen', 'root', 'locations', 'snippets') if key in vhost %}
        {{ key }}: {{ vhost[key]|json }}
        {%- endfor %}
    - require:
      - file: nginx_vhost_dirs
    - watch_in:
      - service: nginx_service

    {%- if vhost.index is defined %}
{{ vhost.root }}/index.html:
  file.managed:
    - contents: {{ vhost.index|yaml_dquote }}
    - user: {{ lookup.webuser }}
    - makedirs: True
    - require:
      - pkg: nginx_package
    {%- endif %}
  {%- endif %}

  {%- if lookup.vhost_available != lookup.vhost_enabled %}
nginx_vhost_{{ name }}_{{ 'on' if enabled else 'off' }}:
    {%- if enabled %}
  file.symlink:
    - name: {{ vhost_path(lookup, name, enabled=True) }}
    - target: {{ vhost_path(lookup, name) }}
    - require:
      - file: nginx_vhost_{{ name }}
    {%- else %}
  file.absent:
    - name: {{ vhost_path(lookup, name, True) }}
    - require:
      - pkg: nginx_package
    {%- endif %}
    - watch_in:
      - service: nginx_service
  {%- endif %}
{%- endfor %}
