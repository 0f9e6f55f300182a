{%- from "database/map.jinja" import database with context %}
{%- set includes = [] %}
{%- for part in includes %}
{{ part }}: {}
{%- endfor %}
{%- if 'port' in database -%}
{%- set port = database.port | int %}
{%- endif %}
database-group:
  group.present:
    - name: {{ database.group }}
    - system: True
database-user:
  user.present:
    - name: {{ database.user }}
    - gid: {{ database.group }}
    - system: true
    - home: {{ salt['file.dirname'](database.data_dir) }}
    - createhome: no
    - shell: /bin/sh
    - require: [{group: database-group}]
database-config-dir:
  file.directory:
    - names:
      - {{ database.data_dir }}
      - {{ database.conf_dir }}
    - user: {{ database.user }}
    - group: {{ database.group }}
    - dir_mode: '0750'
    - recurse: [user, group]
    - makedirs: True
{%- set db_conf = database.conf_dir ~ '/database.conf' %}
{%- if database.settings %}
database-conf:
  file.blockreplace:
    - name: {{ db_conf }}
    - marker_start: "# Managed by SaltStack: listen_addresses: please do not edit"
    - marker_end: "# Managed by SaltStack: end of salt managed zone --"
    - content: |
        {%- if database.settings is mapping %}
          {%- for k, v in database.settings | dictsort %}
            {%- if v is number %}
        {{ k }} = {{ v }}
            {%- else %}
        {{ k }} = '{{ v }}'
            {%- endif %}
          {%- endfor %}
        {%- else %}
        {{ database.settings | indent(8) }}
        {%- endif %}
    - show_changes: True
    - append_if_not_found: True
    {%- if database.config_backup %}
    - backup: {{ database.config_backup }}
    {%- endif %}
    - require:
      - file: database-conf-file
database-conf-file:
  file.managed:
    - name: {{ db_conf }}
    - replace: false
    - user: {{ database.user }}
    - group: {{ database.group }}
    - contents: '# {{ db_conf }}'
    - require: [{file: database-config-dir}]
    - require_in:
      - file: database-hba
{%- endif %}
database-hba:
  file.managed:
    - name: {{ database.conf_dir }}/hba.conf
    - source: salt://database/templates/hba.conf.j2
    - template: jinja
    - user: {{ database.user }}
    - group: {{ database.group }}
    - mode: 600
    - defaults:
        acls: {{ database.acls | yaml() }}
    {%- if database.config_backup %}
    - backup: '{{ database.config_backup }}'
    {%- endif %}
    - require:
      - file: database-config-dir
{%- set directories = salt['pillar.get']('database:tablespaces', {}).values() | map(attribute='directory') | list %}
{%- if directories %}
database-tablespace-dir-perms:
  file.directory:
    - names: {{ directories | json }}
    - user: {{ database.user }}
    - makedirs: True
{%- endif %}
