{%- set nginx = salt['pillar.get']('nginx:ng', {}) %}
{%- set indent_increment = 4 %}
{%- macro sls_block(dict) %}
    {%- for key, value in dict.items() %}
    - {{ key }}: {{ value | json() }}
    {%- endfor %}
{%- endmacro %}
{{ pillar.root }}/nginx.conf:
  file.managed:
    {{ sls_block({'makedirs': True, 'mode': '644'}) }}
    - source: salt://nginx/files/nginx.conf
    - template: jinja
    - context:
        config: {{ nginx.server.config | json(sort_keys=False) }}
{%- for server, settings in nginx.servers.managed.items() %}
  {%- if settings.config != None %}
server_conf_{{ loop.index0 }}:
  file.managed:
    - name: {{ pillar.root }}/sites/{{ server }}
    - makedirs: true
    - source: salt://nginx/files/server.conf
    - template: jinja
    - context:
        config: {{ settings.config | json(sort_keys=False) }}
  {%- endif %}
  {%- if settings.enabled == True %}
server_state_{{ loop.index0 }}:
  file.symlink:
    {{ sls_block({}) }}
    - name: {{ pillar.root }}/sites/{{ server }}.on
    - target: {{ pillar.root }}/sites/{{ server }}
    - require: [{file: server_conf_{{ loop.index0 }}}]
    - watch_in:
      - cmd: nginx_reload
  {%- endif %}
{%- endfor %}
nginx_reload:
  cmd.wait:
    - name: echo reloaded >> {{ pillar.root }}/log
