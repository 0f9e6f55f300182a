# What differs from site to site: where packages and releases come from.
apt:
  repos:
    vendor:
      url: https://packages.example.org/debian
      dist: bookworm
      comps: [main]
      key_url: https://packages.example.org/vendor.asc

packages:
  wanted:
    - curl
    - rsync: '>=3.2'
  unwanted:
    - telnetd
  held:
    - rsync
  alternatives:
    editor: /usr/bin/vim.basic
