{% from "keeper/map.jinja" import keeper with context %}
{% from "keeper/macros.jinja" import sls_block, job %}
{% set peers = salt['mine.get']('G@role:keeper', 'network.ip_addrs', tgt_type='compound').values() | list %}

include:
  - .package
  - keeper.jobs

keeper_service:
  service.running:
    - name: {{ keeper.service }}
    - enable: True
    - reload: False
    - init_delay: 0
    - watch:
      - file: keeper_conf
      - file: keeper_init
    - require:
      - pkg: keeper_pkg

# Written behind what needs it: the service above and the settings below.
keeper_init:
  file.managed:
    - name: {{ keeper.init }}
    - source: salt://keeper/files/init
    - mode: '0755'

keeper_conf:
  file.managed:
    - name: {{ keeper.config }}
    - source: {{ keeper.config_src }}
    - template: jinja
    - settings: {{ keeper.settings | json }}
    - peers: {{ (keeper.settings.peers + peers) | json }}
    - backup: minion
    - defaults:
        interval: 1

keeper_account:
  user.present:
    - name: keeper
    - system: true
    - home: {{ keeper.state_dir }}
    - createhome: false
    - shell: /usr/sbin/nologin

keeper_state_dir:
  file.directory:
    - name: {{ keeper.state_dir }}
    - user: keeper
    - mode: 2750

keeper_options:
  file.serialize:
    - name: {{ keeper.state_dir }}/options.yaml
    - formatter: yaml
    - user: keeper
    - dataset: {{ keeper.settings.options | tojson }}

{{ sls_block('keeper_note', '/etc/keeper.d', {
     'note': 'interval ' ~ keeper.settings.interval,
     'codename': keeper.settings.codename,
   }) }}

extend:
  keeper_pkg:
    pkg:
      - require:
        - file: keeper_note_dir
