{%- from "users/map.jinja" import users_settings with context %}
{%- set used_sudo = [] %}

{%- for name, group in salt['pillar.get']('groups', {}).items() %}
users_group_{{ name }}:
  group.present:
    - name: {{ name }}
  {%- if group.gid is defined %}
    - gid: {{ group.gid }}
  {%- endif %}
  {%- if group.addusers is defined %}
    - addusers: {{ group.addusers|json }}
    - require:
    {%- for member in group.addusers %}
      - user: users_{{ member }}_user
    {%- endfor %}
  {%- endif %}
{%- endfor %}

{%- for name, user in pillar.get('users', {}).items()
      if user.absent is not defined or not user.absent %}
  {%- if user == None %}
    {%- set user = {} %}
  {%- endif %}
  {%- if 'sudouser' in user and user['sudouser'] %}
    {%- do used_sudo.append(1) %}
  {%- endif %}
  {%- set home = user.get('home', users_settings.home_base ~ '/' ~ name) %}
  {%- set user_group = user.get('prime_group', {}).get('name', name) %}

users_{{ name }}_user:
  group.present:
    - name: {{ user_group }}
  {%- if user.uid is defined %}
    - gid: {{ user.uid }}
  {%- endif %}
  user.present:
    - name: {{ name }}
    - home: {{ home }}
    - shell: {{ user.get('shell', users_settings.shell) }}
  {%- if 'uid' in user %}
    - uid: {{ user['uid'] }}
    - gid: {{ user_group }}
  {%- else %}
    - gid_from_name: True
  {%- endif %}
    - createhome: {{ user.get('createhome', True) }}
    - fullname: {{ user.get('fullname', '') or '""' }}
  {%- if 'expire' in user %}
    - expire: {{ user['expire'] }}
  {%- endif %}
  {%- if user.get('groups') %}
    - groups:
    {%- for group in user.groups %}
      - {{ group }}
    {%- endfor %}
  {%- endif %}
    - remove_groups: False
    - require:
      - group: {{ user_group }}
  {%- for group in user.get('groups', []) %}
      - group: {{ group }}
  {%- endfor %}

  {%- if user.get('createhome', True) %}
users_{{ name }}_home:
  file.directory:
    - name: {{ home }}
    - user: {{ name }}
    - group: {{ user_group }}
    - mode: {{ users_settings.dir_mode }}
    - require:
      - user: users_{{ name }}_user

users_{{ name }}_skel:
  file.recurse:
    - name: {{ home }}
    - source: {{ users_settings.skel }}
    - user: {{ name }}
    - group: {{ user_group }}
    - file_mode: 640
    - template: jinja
    - context:
        user: {{ name }}
        shell: {{ user.get('shell', users_settings.shell) }}
    - require:
      - file: users_{{ name }}_home
  {%- endif %}

  {%- for key in user.get('ssh_auth', []) %}
users_ssh_auth_{{ name }}_{{ loop.index0 }}:
  ssh_auth.present:
    - user: {{ name }}
    - name: {{ key }}
    - require:
      - file: users_{{ name }}_home
      - user: users_{{ name }}_user
  {%- endfor %}

  {%- if user.get('sudouser') %}
users_sudoers_{{ name }}:
  file.managed:
    - name: {{ users_settings.sudoers_dir }}/{{ name }}
    - user: root
    - group: root
    - mode: '0440'
    - contents:
      {%- for rule in user.get('sudo_rules', ['ALL=(ALL) ALL']) %}
      - "{{ name }} {{ rule }}"
      {%- endfor %}
    - require:
      - file: users_sudoers_dir
  {%- endif %}
{%- endfor %}

{%- for name, user in pillar.get('users', {}).items()
      if user.absent is defined and user.absent %}
users_absent_{{ name }}:
  user.absent:
    - name: {{ name }}
    - purge: {{ user.get('purge', False) }}
{%- endfor %}

{%- if used_sudo %}
include:
  - users.sudo
{%- endif %}
