{%- from "postgres/map.jinja" import postgres, format_state with context %}
{%- set includes = [] %}
{%- if postgres.use_upstream_repo == true %}{% do includes.append('postgres.upstream') %}{% endif %}
{%- if includes -%}
include: {{ includes | yaml }}
{%- endif %}
postgresql-conf:
  file.append:
    - name: {{ pillar.root }}/postgresql.conf
    - makedirs: true
    - text: {{ postgres.postgresconf | indent(8) | yaml_dquote }}
{%- set pg_hba_path = [pillar.root, 'pg_hba.conf'] | join('/') %}
postgresql-pg_hba:
  file.managed:
    - name: {{ pg_hba_path }}
    - source: {{ postgres['pg_hba.conf'] }}
    - template: jinja
    - defaults:
        acls: {{ postgres.acls | yaml }}
    - require: [{file: postgresql-conf}]
{%- for bin in ['a', 'b'] %}
{{ bin }} {{ loop.first }}:
  test.nop: []
{%- endfor %}
{%- for name, user in postgres.users | dictsort() %}
{{ format_state(name, 'postgres_user', user) }}
{%- endfor %}
{%- for name, db in postgres.databases | dictsort() %}
{{ format_state(name, 'postgres_database', db) }}
{%- endfor %}
show:
  test.configurable_test_state:
    - changes: false
    - result: true
    - comment: {{ [postgres.conf_dir, postgres.version, postgres.cluster, postgres.pkg_repo] | json | yaml_dquote }}
