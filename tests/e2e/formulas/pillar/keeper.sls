keeper:
  settings:
    interval: 30
    peers: [192.0.2.1]
  jobs:
    report: 15
    sweep: 5
