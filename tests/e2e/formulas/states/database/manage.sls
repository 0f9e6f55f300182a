{%- from "database/map.jinja" import database with context %}
{%- from "database/macros.jinja" import format_state, directories with context %}
{%- for dir in directories.values() | sort %}
{{ dir }}:
  file.directory:
    - makedirs: true
    - require: [{sls: database.server}]
{%- endfor %}
{%- for name, user in database.users | dictsort() %}
{{ format_state(name, 'database_user', user) }}
{%- endfor %}
{%- for name, db in database.databases | dictsort() %}
{%- if 'owner' in db %}{% set owner = db.owner %}{% endif %}
{{ format_state(name, 'database_db', db) }}
  {%- if owner is defined %}
    - require_in: [{test: database-done}]
  {%- endif %}
{%- endfor %}
database-done:
  test.nop:
    - require:
      - sls: database.server
