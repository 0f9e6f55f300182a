{%- from "database/map.jinja" import database with context %}
include:
{% if database.users or database.databases %}
  - database.server
  - database.manage
{% else %}
  - database.server
{% endif %}
