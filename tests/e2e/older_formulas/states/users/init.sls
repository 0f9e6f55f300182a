# vim: sts=2 ts=2 sw=2 et ai
{% from "users/map.jinja" import users with context %}
{% set root = pillar.root %}
{% set used_sudo = [] %}
{% set used_googleauth = [] %}
{%- for group, setting in salt['pillar.get']('groups', {}).items() %}
unused-{{ group }}:
  test.nop: []
{%- endfor %}
{%- for name, user in pillar.get('users', {}).items()
        if user.absent is not defined or not user.absent %}
{%- if user == None -%}
{%- set user = {} -%}
{%- endif -%}
{%- if 'sudouser' in user and user['sudouser'] %}
{%- do used_sudo.append(1) %}
{%- endif %}
{%- set current = salt.user.info(name) -%}
{%- set home = user.get('home', current.get('home', root ~ "/home/%s" % name)) -%}
{%- set user_group = user.get('prime_group', {}).get('name', name) %}
{%- for group in user.get('groups', []) %}
users_{{ name }}_{{ group }}_group:
  test.succeed_without_changes:
    - name: {{ group }}
    {% if group == 'adm' -%}
    - comment: "the adm group"
    {% endif %}
{%- endfor %}

users_{{ name }}_user:
  file.directory:
    - name: {{ home }}
    - mode: {{ user.get('user_dir_mode', '0750') }}
    - makedirs: True
    {% if user.get('groups') -%}
    - require:
      {% for group in user.get('groups', []) -%}
      - test: users_{{ name }}_{{ group }}_group
      {% endfor %}
    {% endif %}

{% if 'ssh_auth' in user %}
{% for auth in user['ssh_auth'] %}
users_ssh_auth_{{ name }}_{{ loop.index0 }}:
  file.append:
    - name: {{ home }}/.ssh/authorized_keys
    - makedirs: true
    - text: {{ auth | json }}
    - require:
      - file: users_{{ name }}_user
{% endfor %}
{% endif %}

{% if 'sudouser' in user and user['sudouser'] %}
users_sudoer-{{ name }}:
  file.managed:
    - replace: False
    - name: {{ root }}/{{ users.sudoers_dir | replace('/etc/', '') }}/{{ name }}
    - makedirs: True
    - mode: '0440'
{% if 'sudo_rules' in user or 'sudo_defaults' in user %}
"validate {{ name }} sudo rules":
  cmd.run:
    - name: 'cat > /dev/null'
    - stdin: |
      {%- for rule in user['sudo_rules'] %}
        {{ name }} {{ rule }}
      {%- endfor %}
    - shell: {{ users.visudo_shell }}
    - onchanges_any:
      - file: users_sudoer-{{ name }}
users_{{ users.sudoers_dir }}/{{ name }}:
  file.blockreplace:
    - name: {{ root }}/sudoers.d/{{ name }}
    - append_if_not_found: true
    - backup: false
    - content: |
      {%- for rule in user['sudo_rules'] %}
        {{ name }} {{ rule }}
      {%- endfor %}
    - require: [{file: users_sudoer-{{ name }}}]
    - require_in:
      - cmd: "validate {{ name }} sudo rules"
{% endif %}
{% else %}
users_no_sudo_{{ name }}:
  file.absent:
    - name: {{ root }}/sudoers.d/{{ name }}
{% endif %}
{% endfor %}
{% for user in salt['pillar.get']('absent_users', []) %}
users_absent_{{ user }}:
  user.absent: []
{% endfor %}
used {{ used_sudo | length }}:
  test.configurable_test_state:
    - changes: False
    - result: True
    - comment: {{ users | json | yaml_dquote }}
