{%- set sudoers = pillar.get('sudoers', {}) %}
{%- set files = [] %}
{{ pillar.root }}/sudoers:
  file.managed:
    - mode: 440
    - contents: |
        {%- for d in sudoers.get('defaults', {}).get('generic', []) %}
        Defaults {{ d }}
        {%- endfor %}
        {%- for u, v in sudoers.defaults.user_list.items() %}
        Defaults:{{ u }} {{ v }}
        {%- endfor %}
        {%- for a, hosts in sudoers.aliases.hosts.items() %}
        Host_Alias {{ a }} = {{ hosts | join(',') }}
        {%- endfor %}
        {%- for u, specs in sudoers.users.items() %}{% for s in specs %}
        {{ '%-10s' | format(u) }} {{ s }}
        {%- endfor %}{% endfor %}
        #includedir {{ sudoers.includedir }}
    - check_cmd: test -f
    - require_in:
      - test: sudo done
sudo done:
  test.nop:
    - require:
      - sls: postgres
include:
  - postgres
