{%- from "common/map.jinja" import common with context %}

system_timezone:
  timezone.system:
    - name: {{ common.timezone }}
    - utc: True

system_locale:
  locale.present:
    - name: {{ common.locale }}
  file.managed:
    - name: /etc/default/locale
    - contents: LANG={{ common.locale }}
    - user: root
    - group: root
    - mode: 644
    - require:
      - locale: system_locale

/etc/motd:
  file.managed:
    - source: salt://common/files/motd.jinja
    - template: jinja
    - defaults:
        text: ''
    - context:
        text: {{ common.motd|yaml_encode }}

{%- for key, value in common.sysctl.items() %}
{{ key }}:
  sysctl.present:
    - value: {{ value }}
    - config: {{ common.sysctl_dir }}/60-{{ sls.split('.')[0] }}.conf
{%- endfor %}

{%- if common.limits %}
/etc/security/limits.conf:
  file.blockreplace:
    - marker_start: "# START managed limits -DO-NOT-EDIT-"
    - marker_end: "# END managed limits"
    - content: |
        {%- for limit in common.limits %}
        {{ '%-12s %-6s %-10s %s'|format(limit.domain, limit.type, limit.item, limit.value) }}
        {%- endfor %}
    - append_if_not_found: True
    - backup: '.orig'
    - show_changes: True
{%- endif %}

# umask of people, in a file that belongs to somebody else
/etc/login.defs:
  file.replace:
    - pattern: '^UMASK\s+\d+'
    - repl: "UMASK\t\t027"
    - count: 1

/etc/profile.d/zz-managed.sh:
  file.append:
    - text:
      - export PAGER=more
      - |-
        if [ -r /etc/motd.local ]; then
            cat /etc/motd.local
        fi
    - makedirs: True
