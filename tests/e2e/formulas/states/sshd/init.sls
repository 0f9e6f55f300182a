{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import mapdata with context %}
{%- set sshd = mapdata.sshd %}
{%- set has = [] %}
{%- if sshd.get('banner_text') %}{% do has.append('banner') %}{% endif %}

include:
  - sshd.config
  - sshd.known
  {%- for part in has %}
  - sshd.{{ part }}
  {%- endfor %}

{% if sshd.generate is iterable and sshd.generate is not string %}
{%- for keytype in sshd.generate %}
sshd_generate_{{ keytype }}:
  cmd.run:
    - name: printf '%s' {{ keytype }} > /etc/sshd/host_{{ keytype }}_key
    - unless:
      - test -s /etc/sshd/host_{{ keytype }}_key
    - onlyif:
      - fun: file.directory_exists
        args: [/etc/sshd]
      - test -d /etc/sshd
    - umask: '077'
    - require:
      - file: sshd_config
{%- if loop.last %}
    - watch_in:
      - test: sshd_running
{%- endif %}
{%- endfor %}
{%- endif %}

sshd_running:
  test.succeed_without_changes:
    - name: {{ sshd.service }}
    - watch:
      - file: sshd_config
