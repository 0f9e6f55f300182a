# vim: sts=2 ts=2 sw=2 et ai
{% from "accounts/map.jinja" import accounts with context %}
{%- set used_sudo = [] -%}
{%- set ns = namespace(keys=0, seen=[]) %}

{%- for name, user in pillar.get('accounts', {}).items() if user.absent is not defined or not user.absent %}
{%- if user == None %}{% set user = {} %}{% endif %}
{%- if 'sudouser' in user and user['sudouser'] %}{% do used_sudo.append(1) %}{% endif %}
{%- endfor %}

{%- if used_sudo %}
include:
  - accounts.sudo
{%- endif %}

{% for name, user in pillar.get('accounts', {}).items()
        if user.absent is not defined or not user.absent %}
{%- if user == None -%}
{%- set user = {} -%}
{%- endif -%}
{%- set home = user.get('home', "/home/%s" % name) -%}
{%- set user_group = name -%}
{%- if 'prime_group' in user and 'name' in user['prime_group'] %}
{%- set user_group = user.prime_group.name -%}
{%- endif %}

{{ name }}_user:
  file.directory:
    - name: {{ home }}
    - user: {{ name }}
    - group: {{ user_group }}
    - mode: {{ user.get('user_dir_mode', '0750') }}
    - require:
      - user: {{ name }}_user
      - group: {{ user_group }}
  group.present:
    - name: {{ user_group }}
    {%- if 'prime_group' in user and 'gid' in user['prime_group'] %}
    - gid: {{ user['prime_group']['gid'] }}
    {%- elif 'uid' in user %}
    - gid: {{ user['uid'] }}
    {%- endif %}
  user.present:
    - name: {{ name }}
    - home: {{ home }}
    - shell: {{ user.get('shell', accounts.shell) }}
    {%- if 'uid' in user %}
    - uid: {{ user['uid'] }}
    {%- endif %}
    - gid: {{ user_group }}
    - fullname: {{ user['fullname'] | default(name) | yaml_dquote }}
    - createhome: False
    - remove_groups: {{ user.get('remove_groups', 'False') }}
    - groups:
      - {{ user_group }}
      {%- for group in user.get('groups', []) %}
      - {{ group }}
      {%- endfor %}
    - require:
      - group: {{ user_group }}
      {%- for group in user.get('groups', []) %}
      - group: {{ group }}
      {%- endfor %}

{%- for group in user.get('groups', []) if group not in ns.seen %}
{%- set ns.seen = ns.seen + [group] %}

accounts_{{ name }}_{{ group }}_group:
  group.present:
    - name: {{ group }}
{%- endfor %}

{%- if 'ssh_auth' in user %}

user_{{ name }}_ssh:
  file.directory:
    - name: {{ home }}/.ssh
    - user: {{ name }}
    - group: {{ user_group }}
    - mode: '0700'
    - makedirs: True

{%- for auth in user['ssh_auth'] %}
{%- set ns.keys = ns.keys + 1 %}

ssh_auth_{{ name }}_{{ loop.index0 }}:
  ssh_auth.present:
    - user: {{ name }}
    - name: {{ auth }}
    - require:
      - file: user_{{ name }}_ssh
      - user: {{ name }}_user
{%- endfor %}
{%- endif %}

{%- if user.get('sudouser') %}

sudoer-{{ name }}:
  file.managed:
    - replace: False
    - name: {{ accounts.sudoers_dir }}/{{ name | replace('.', '_') }}
    - user: root
    - group: {{ accounts.root_group }}
    - mode: '0440'
    - contents: |
        {%- for rule in user.get('sudo_rules', ['ALL=(ALL) ALL']) %}
        {{ name }} {{ rule }}
        {%- endfor %}
    - check_cmd: test -s
    - require:
      - file: sudoers-dir
{%- endif %}
{% endfor %}

{% for name, user in pillar.get('accounts', {}).items() if user.absent is defined and user.absent %}
{{ name }}:
  user.absent:
    - purge: {{ user.get('purge', False) }}
    - force: {{ user.get('force', False) }}
{% endfor %}

accounts_report:
  file.managed:
    - name: /etc/accounts.keys
    - contents: "keys: {{ ns.keys }}"
