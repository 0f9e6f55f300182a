clock-service-clean:
  cmd.run:
    - name: rm -f /run/clock.reloads
    - onlyif: test -e /run/clock.reloads
