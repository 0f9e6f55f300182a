{%- from "sshd/map.jinja" import mapdata with context %}
include:
  - sshd
sshd_banner:
  file.managed:
    - name: {{ mapdata.sshd.banner }}
    - contents_pillar: sshd:banner_text
    - makedirs: true
    - listen_in:
      - test: sshd_running
extend:
  sshd_config:
    file:
      - require:
        - file: sshd_banner
      - makedirs: true
