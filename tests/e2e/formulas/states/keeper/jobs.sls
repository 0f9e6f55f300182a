{% from slspath ~ "/map.jinja" import keeper with context %}
{% from slspath ~ "/macros.jinja" import job with context %}

include:
  - keeper

{%- for name, minutes in salt['pillar.get']('keeper:jobs', {}) | dictsort %}
{{ job(name, minutes, keeper.config) }}
{%- endfor %}

keeper_digest:
  cmd.run:
    - name: sha256sum {{ keeper.config }} > /var/cache/keeper.sha256
    - onchanges:
      - file: keeper_conf
    - require_in:
      - cmd: keeper_after

keeper_after:
  cmd.run:
    - name: 'true'
    - unless:
      - test -s /var/cache/keeper.sha256
      - test -s {{ keeper.config }}
