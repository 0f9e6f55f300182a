/* The chapters of the manual, beyond the parameter tables. */
#include "kepler/access/right.h"
#include "core/data/params.h"
#include "kepler/config/condition.h"
#include "kepler/config/config_manual.h"
#include "kepler/config/config_read.h"

/* clang-format off */
static const char file_details[] =
    "A YAML file (1.2: only true and false are booleans) of at most 10 MiB. Unknown keys and\n"
    "wrong types are mistakes; all of them are reported at once, with line and column, before\n"
    "anything starts: 'kepler validate'. Names of services are made of a-z, 0-9, '_' and '-'.\n"
    "The file is read when the config is first started, and stays as it was read, with the\n"
    "environment of whoever started it, until 'kepler run' or 'kepler recreate'.\n"
    "\n"
    "Keys at the top that begin with 'x-' are yours: put what several services share there, with an\n"
    "anchor (&), and merge it (<<: *) into them.\n"
    "\n"
    "A duration is a number with ms, s, m, h or d, as text: 500ms, 30s. A size is a number with\n"
    "B, K, M or G, in powers of 1024: 64M.\n";

static const char service_details[] =
    "A service has either 'command', which is run as it is, or 'run', which is a text for the\n"
    "shell ($SHELL of the environment, else /bin/bash, else sh). Most values may be computed: see\n"
    "'expressions'. They are evaluated again at each start of the service.\n"
    "\n"
    "The environment of its process, later ones win: what the config has captured (if\n"
    "inherit_env), env_file, environment in its order, then HOME, USER, LOGNAME and SHELL of\n"
    "'user', or of an owner who is not root (if user_identity); a number without an account has\n"
    "the home '/'. Nothing of the daemon's own is in it.\n"
    "\n"
    "To stop it, stop_signal goes to it and all that it started; what is left after\n"
    "stop_grace_period is killed. A stop is over when the whole tree is gone.\n";

static const char depends_details[] =
    "A list of names, a map of names with the keys below, or a list of both. Every service waits\n"
    "for its own dependencies; all others start at once. The key 'state' is for states of this\n"
    "machine, see 'state'.\n";

static const char state_details[] =
    "A service can wait for states of zester on this machine, besides other services: a name, a\n"
    "list of names, or a map of names with the keys below, under the key 'state' of 'depends_on'\n"
    "(unless the file has a service of that name). A name is\n"
    "\n"
    "  highstate                  the last run of the top file\n"
    "  file.managed:/etc/motd     a state, as reports name it\n"
    "  /etc/motd                  all states with this ID\n"
    "  web.nginx                  the last run of 'state.apply web.nginx'\n"
    "\n"
    "and is met when its last run on this machine succeeded; dry runs do not count. A run that\n"
    "fails later does not stop the service. With 'restart: true' the service restarts when the\n"
    "state has changed something, in a run that succeeded.\n"
    "\n"
    "The daemon asks the agent of this machine (zester-peel) once a second, through the socket in\n"
    "its data folder, or reads the record of the last runs there when no agent runs: 'zester\n"
    "--local' writes it, too. The folder is /var/lib/zester, ~/.local/state/zester for a daemon of\n"
    "another user than root, or 'kepler.zester_data', which counts in configs of the user who runs\n"
    "the daemon. 'kepler ps' and 'kepler why' say what is waited for. 'kepler start' does not wait\n"
    "for services that wait for a state.\n";

static const char depends_more[] =
    "An end after which the policy starts the dependency again does not count. A condition that\n"
    "can no longer hold skips the dependent, with a reason; so does a dependency that was\n"
    "skipped, unless allow_skipped. Health of a service without a healthcheck never comes: the\n"
    "dependent fails after its timeout, or is skipped when it has none.\n"
    "\n"
    "'required: false', as in Compose: the service starts without the dependency if that is not in\n"
    "the file, was skipped, can no longer meet its condition, or does not meet it in time. Until\n"
    "then it waits.\n"
    "\n"
    "With 'restart: true' the dependent is stopped when the dependency restarts, for whatever\n"
    "reason, and started when the condition holds again. A service that restarts by itself waits\n"
    "for such restarts further up first, so that it restarts once.\n";

static const char restart_details[] =
    "The policy alone, or a map. Policies are no, always, or any of on-failure, on-success and\n"
    "on-unhealthy, joined with '|'. An exit code of 0 is success, anything else is failure. The\n"
    "pause before restart n, counted from the last time it was healthy, is delay * backoff^n, at\n"
    "most max_delay. A stop during the pause wins. A crash loop is slowed down, or ended: see\n"
    "'start_limit'. grace_period is that of the stop in a restart; it and stop_grace_period of\n"
    "the service stand in for each other. Keys that 'restart' does not know are reported as warnings.\n"
    "\n"
    "Patterns of 'watch' are relative to the service's folder: * and ? stay within a folder, **\n"
    "goes through all, [a-z], {a,b}, and ! before a pattern leaves out. A change of a file that\n"
    "matches, a touch too, restarts the service half a second after the first one; what changes\n"
    "while it restarts does not count. Folders may come and go;\n"
    "only that of an absolute pattern elsewhere must be there.\n";

static const char hooks_details[] =
    "Each phase is a step, or a list of steps:\n"
    "\n"
    "  pre_start post_start            around each start; pre_start must succeed\n"
    "  pre_stop post_stop              around a stop, also that of a restart by hand\n"
    "  pre_restart post_restart        around all of a restart\n"
    "  post_exit                       the process ended by itself\n"
    "  pre_cleanup                     before 'stop --clean' forgets the config\n"
    "  post_healthcheck_success _fail  it became healthy, or unhealthy\n"
    "\n"
    "A step without 'if' is passed over after a step of the phase failed. 'if' is true, false or\n"
    "an expression, with or without its marks, that sees the step's variables; in it there are\n"
    "success(), failure(), always() and, for a dependency, success('db'), failure('db') and\n"
    "skipped('db'). A step that succeeds where failure() was asked heals the phase. What steps\n"
    "write is in the log of the service.\n"
    "\n"
    "A pre_start that fails at the start of a service, or in a restart that was asked for, makes it\n"
    "failed. In a restart by policy it counts as a failed start: nothing is started, and a policy that\n"
    "restarts on failure tries again after its pause, one second at least.\n";

static const char outputs_details[] =
    "A service that runs once can hand values to those who depend on it. With 'output: true' each\n"
    "line '::output::KEY=VALUE' of its standard output is kept instead of logged; 'outputs' are\n"
    "texts that are computed when it has ended, and win over lines of the same key. A hook step\n"
    "with 'output: NAME' keeps its lines as hooks.PHASE.outputs.NAME.KEY. 'output: true' and\n"
    "'outputs' need 'restart: no'. Dependents read them as deps.NAME.outputs.KEY.\n";

static const char expressions_details[] =
    "${{ expression }}$ inside a text, and blocks after the tag !lua that return a value, are Lua\n"
    "5.4. A text that is nothing but one expression keeps its type; elsewhere the result becomes\n"
    "text, and nil becomes nothing. $VAR is left to the shell.\n"
    "\n"
    "  service       name, env, env_file, initialized, restart_count,\n"
    "                restart_count_since_healthy, status, exit_code, hooks\n"
    "  deps.NAME     status, exit_code, initialized, restart_count,\n"
    "                restart_count_since_healthy, env, outputs\n"
    "  kepler        env: what the config has captured; flags: -D KEY=VALUE\n"
    "  hook          in hooks: name, env, env_file, had_failure\n"
    "  hooks         service.hooks: PHASE.outputs.STEP.KEY; nil when there are none\n"
    "  owner         uid, gid, user\n"
    "  global        a table that all expressions of one start share; the only one to write to\n"
    "\n"
    "Besides string, table, math, bit32, utf8 there are json.parse, json.stringify(v, pretty),\n"
    "yaml.parse, yaml.stringify, os.time, os.date, os.clock, os.difftime and os.getgroups(user).\n"
    "Files, programs and the network cannot be reached; memory, instructions and time are limited.\n"
    "The top-level key 'lua' holds functions for all of them. A name that nobody defined is nil.\n"
    "\n"
    "Files that were written for Luau: its functions are there (string.split, table.find, create,\n"
    "clone, clear, freeze, isfrozen, math.clamp, round, sign, typeof), tostring(10 / 2) is 5, and\n"
    "'for name, dep in deps do' works. Its syntax is not: for '+=', 'continue', `text {x}`, types\n"
    "and 'if' as a value the message says what to write in Lua 5.4. '..' shows 10 / 2 as 5.0: use\n"
    "10 // 2, or tostring.\n";

static const char acl_details[] =
    "A config belongs to who loads it first. Rules let other members of the group 'kepler' use it:\n"
    "under 'users' and 'groups', for each name or number a list of rights, or a map with the keys of\n"
    "'rule'. A caller has the rights of all rules that match, and must be able to read the file; what\n"
    "the file says counts as it was when it was loaded. The owner and root have all rights. Rules\n"
    "are not computed: expressions are mistakes in them.\n"
    "\n"
    "The list of rights is flat: 'start:no-deps' is needed in addition to 'start'. 'all' stands for\n"
    "all of them, 'aliases' for lists of your own, which may name other aliases, two levels deep.\n"
    "Sections of 'inspect' are left out without their right.\n";

static const char acl_more[] =
    "Whoever may set variables (env-override) or read the file into a running config decides what\n"
    "runs as the owner: grant those as you would grant the account. Variables of others are not\n"
    "passed on without it.\n";

static const char rule_details[] =
    "'authorize' is the body of function(request, caller) in Lua, run for each request of whom the\n"
    "rule matches, the owner included and root excepted. It must return true, and nothing else; an\n"
    "error refuses, and its text is in the log of the daemon only. With a token its own authorizer is\n"
    "asked first, then those of the user, then those of the groups by their number; all must agree.\n"
    "\n"
    "  request.action    start, run, stop, restart, recreate, status, why, inspect, logs,\n"
    "                    metrics, wait, list\n"
    "  request.params    services, service, no_deps, start_clean, override_envs, hardening, clean,\n"
    "                    signal, filter, include_services, include_environment, include_flags\n"
    "  caller            uid, gid, username, groups (names), token (true or false)\n"
    "\n"
    "Each question begins anew, with the functions of 'acl.lua'. There is less than in expressions:\n"
    "no 'global', of os only time and clock, and no global can be set. After a second it is cut off,\n"
    "and counts as a refusal; more than 100 ms are logged.\n";

static const char permission_details[] =
    "A list of rights, or a map. The processes of the service, its hooks and health checks have a\n"
    "token in KEPLER_TOKEN, and KEPLER_SOCKET_PATH: 'kepler' in them has these rights and no others,\n"
    "whoever they run as. On configs of other owners the rules there must grant them, too. The token\n"
    "is new for each run of the service, and ends with it.\n"
    "\n"
    "Other processes of the same user can read it in /proc, and a process that drops the variable has\n"
    "the rights of its user: give a service a user of its own that is not in the group 'kepler'. A\n"
    "config that is loaded with a token has no tokens with more rights than that one.\n";

static const char logs_details[] =
    "Lines are stored as they come, whatever bytes they hold. A line that is a JSON object gives\n"
    "its message, level and time; the rest of it becomes attributes. Other lines have level info\n"
    "from standard output and error from standard error. Under 'kepler' for all, under a service\n"
    "for that one; there only 'store' and 'retention' can be said.\n";
/* clang-format on */

const struct config_chapter config_chapters[] = {
    {
        .name = "file",
        .summary = "structure of the file",
        .params = config_root_params,
        .details = file_details,
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"python3\", \"-m\", \"http.server\", \"8080\"]\n"
                   "    restart: always\n",
    },
    {
        .name = "kepler",
        .summary = "settings of the whole file",
        .where = "kepler",
        .params = config_kepler_params,
        .details =
            "With 'storage: nfs' a flush of logs is on disk before it counts. 'timeout' is for "
            "those that wait\n"
            "for a start, for health or for a good end; who waits for a failure, a stop or for "
            "bad health waits\nas long as it takes.\n",
        .example = "kepler:\n"
                   "  timeout: 5m\n"
                   "  autostart: true\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "autostart",
        .summary = "configs that start with the daemon",
        .where = "kepler.autostart",
        .params = config_autostart_params,
        .details = "true, or a map. What was active when the daemon ended is started again by the "
                   "next one, in the\norder of its dependencies, from the file as it was read. The "
                   "environment of whoever started it is\nnot kept, but for what is named here: a "
                   "name, or NAME=value.\n",
        .example = "kepler:\n"
                   "  autostart:\n"
                   "    environment: [PATH, LANG, MODE=production]\n"
                   "services:\n"
                   "  web: {run: 'exec ./web --mode $MODE'}\n",
    },
    {
        .name = "acl",
        .summary = "who else may use the config",
        .where = "kepler.acl",
        .params = config_acl_params,
        .details = acl_details,
        .list = right_print_list,
        .more = acl_more,
        .example = "kepler:\n"
                   "  acl:\n"
                   "    aliases:\n"
                   "      look: [status, logs, inspect, inspect:services]\n"
                   "      operate: [look, start, stop, restart]\n"
                   "    users:\n"
                   "      bob: [operate]\n"
                   "    groups:\n"
                   "      developers: [look]\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "rule",
        .summary = "a rule with code that decides",
        .where = "kepler.acl.users.NAME and kepler.acl.groups.NAME",
        .params = config_rule_params,
        .details = rule_details,
        .example = "kepler:\n"
                   "  acl:\n"
                   "    lua: |\n"
                   "      function only(request, name)\n"
                   "        local named = request.params.services\n"
                   "        return #named == 1 and named[1] == name\n"
                   "      end\n"
                   "    users:\n"
                   "      bob:\n"
                   "        allow: [restart]\n"
                   "        authorize: return only(request, 'web')\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "service",
        .summary = "one service",
        .where = "services.NAME",
        .params = config_service_params,
        .details = service_details,
        .example = "services:\n"
                   "  web:\n"
                   "    run: exec ./web --port \"$PORT\"\n"
                   "    working_dir: app\n"
                   "    environment:\n"
                   "      - PORT=8080\n"
                   "      - URL=http://localhost:${{ service.env.PORT }}$\n"
                   "    stop_signal: SIGINT\n"
                   "    stop_grace_period: 30s\n",
    },
    {
        .name = "depends_on",
        .summary = "dependencies of a service",
        .where = "services.NAME.depends_on",
        .params = config_edge_params,
        .details = depends_details,
        .list = condition_print_list,
        .more = depends_more,
        .example = "services:\n"
                   "  db:\n"
                   "    command: [\"postgres\"]\n"
                   "    healthcheck: {test: [\"pg_isready\"], interval: 5s}\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    depends_on:\n"
                   "      db: {condition: service_healthy, timeout: 60s, restart: true}\n"
                   "  report:\n"
                   "    command: [\"./report\"]\n"
                   "    depends_on:\n"
                   "      web: {condition: service_failed, exit_code: [1, \"5:10\"]}\n",
    },
    {
        .name = "state",
        .summary = "states of this machine that a service waits for",
        .where = "services.NAME.depends_on.state",
        .params = config_state_params,
        .details = state_details,
        .example = "services:\n"
                   "  db:\n"
                   "    command: [\"postgres\"]\n"
                   "    depends_on: {state: highstate}\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    depends_on:\n"
                   "      db:\n"
                   "      state:\n"
                   "        /etc/web.conf: {restart: true}\n"
                   "        pkg.installed:certs: {timeout: 5m}\n",
    },
    {
        .name = "restart",
        .summary = "restart policies",
        .where = "services.NAME.restart",
        .params = config_restart_params,
        .details = restart_details,
        .example = "services:\n"
                   "  worker:\n"
                   "    command: [\"./worker\"]\n"
                   "    restart:\n"
                   "      policy: on-failure|on-unhealthy\n"
                   "      delay: 1s\n"
                   "      backoff: 2.0\n"
                   "      max_delay: 1m\n"
                   "      watch: [\"src/**/*.py\", \"!src/tests/**\"]\n",
    },
    {
        .name = "start_limit",
        .summary = "limits on crash loops",
        .where = "services.NAME.start_limit",
        .params = config_start_limit_params,
        .details =
            "A service that its policy has started again so often in so short a time is "
            "left alone as 'failed', with\na reason that 'kepler ps' shows: who waits "
            "for its failure or its stop starts then, also\nwith 'restart: always'. "
            "A start by hand begins a new count. Where nothing is said, a crash loop never\n"
            "ends, but after 20 restarts in 10s each pause is at least a second, until the service "
            "has held for 10s;\n'count: 0' lets it go on at full speed.\n",
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    restart: always\n"
                   "    start_limit: {count: 5, interval: 1m}\n",
    },
    {
        .name = "healthcheck",
        .summary = "health checks",
        .where = "services.NAME.healthcheck",
        .params = config_health_params,
        .details = "One of 'test', 'command' and 'run'. The first pass makes the service healthy; "
                   "'retries' failures in a row\nmake it unhealthy. A check that takes longer than "
                   "'timeout' has failed and is killed with all that it\nstarted. It runs in the "
                   "service's folder and environment.\n",
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    healthcheck:\n"
                   "      run: curl -fsS http://localhost:8080/health\n"
                   "      interval: 10s\n"
                   "      timeout: 2s\n"
                   "      start_period: 5s\n",
    },
    {
        .name = "hooks",
        .summary = "hooks on events of a service's life cycle",
        .where = "services.NAME.hooks.PHASE",
        .params = config_step_params,
        .details = hooks_details,
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    hooks:\n"
                   "      pre_start:\n"
                   "        - run: ./migrate\n"
                   "          timeout: 2m\n"
                   "        - if: ${{ failure() }}$\n"
                   "          run: ./migrate --repair\n"
                   "      post_stop: {run: rm -f web.sock}\n",
    },
    {
        .name = "limits",
        .summary = "resource limits of a process",
        .where = "services.NAME.limits",
        .params = config_limit_params,
        .details = "Limits of each process, soft and hard.\n",
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    limits: {memory: 512M, max_fds: 4096}\n",
    },
    {
        .name = "permissions",
        .summary = "what a service may ask of the daemon",
        .where = "services.NAME.permissions",
        .params = config_permission_params,
        .details = permission_details,
        .example = "services:\n"
                   "  web: {command: [sleep, infinity]}\n"
                   "  watcher:\n"
                   "    run: |\n"
                   "      while sleep 60; do kepler -f kepler.yaml ps | grep -q unhealthy && "
                   "kepler -f kepler.yaml restart web; done\n"
                   "    permissions: [status, restart]\n",
    },
    {
        .name = "logs",
        .summary = "storage of logs",
        .where = "kepler.logs and services.NAME.logs",
        .params = config_logs_params,
        .details = logs_details,
        .example = "kepler:\n"
                   "  logs:\n"
                   "    retention_period: 7d\n"
                   "    retention: {on_stop: retain}\n"
                   "services:\n"
                   "  noisy:\n"
                   "    command: [\"./noisy\"]\n"
                   "    logs: {store: {stdout: false}}\n",
    },
    {
        .name = "retention",
        .summary = "retention of logs",
        .where = "logs.retention",
        .params = config_retention_params,
        .details =
            "'clear' or 'retain' for each turn of a service's life; 'on_exit' stands for both "
            "'on_success' and\n'on_failure'. Where nothing is said, 'on_stop' is 'clear' and all "
            "others are 'retain'.\n",
        .example = "services:\n"
                   "  job:\n"
                   "    command: [\"./job\"]\n"
                   "    logs: {retention: {on_success: clear, on_stop: retain}}\n",
    },
    {
        .name = "monitor",
        .summary = "metrics of services",
        .where = "kepler.monitor",
        .params = config_monitor_params,
        .details =
            "Processors and memory of all processes of each service that runs, looked at from the "
            "first start of a\nservice on. They survive a stop and go with 'stop --clean'; 'kepler "
            "top' shows them.\n",
        .example = "kepler:\n"
                   "  monitor: {interval: 5s, retention_period: 7d}\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "outputs",
        .summary = "values passed between services",
        .details = outputs_details,
        .example =
            "services:\n"
            "  setup:\n"
            "    run: echo '::output::port=9090'\n"
            "    output: true\n"
            "    outputs: {url: 'http://localhost'}\n"
            "  web:\n"
            "    command: [\"./web\"]\n"
            "    depends_on:\n"
            "      setup: {condition: service_completed_successfully}\n"
            "    environment:\n"
            "      - ADDRESS=${{ deps.setup.outputs.url }}$:${{ deps.setup.outputs.port }}$\n",
    },
    {
        .name = "expressions",
        .summary = "computed values, in Lua",
        .details = expressions_details,
        .example = "lua: |\n"
                   "  function port(n) return 8000 + n end\n"
                   "services:\n"
                   "  web:\n"
                   "    if: ${{ kepler.flags.web ~= 'no' }}$\n"
                   "    command: [\"./web\", \"--port\", \"${{ port(80) }}$\"]\n"
                   "    environment: !lua |\n"
                   "      return { MODE = kepler.env.MODE or \"development\" }\n",
    },
    { .name = NULL },
};
