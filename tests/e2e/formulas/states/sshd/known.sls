{%- from "sshd/map.jinja" import mapdata with context %}
{%- for name, key in mapdata.sshd.get('known', {}) | dictsort %}
sshd_known_{{ name }}:
  file.append:
    - name: {{ mapdata.sshd.known_hosts }}
    - text: {{ ([name] + key.split()[:2]) | join(' ') | yaml_dquote }}
    - require:
      - file: sshd_config
  host.present:
    - ip: {{ mapdata.sshd.addresses | traverse(name ~ ':ip', '192.0.2.99') }}
    - names:
      - {{ name }}
{%- endfor %}
