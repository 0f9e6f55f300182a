/* Hardware or virtual machine: manufacturer, serial number, virtual. */
#include <string.h>

#include "states/facts/scan.h"

#define CPUINFO_MAX ((size_t)4 << 10)
#define ENVIRON_MAX ((size_t)64 << 10)

struct kind {
    const char *name, *subtype; /* as Salt spells them */
};

/* --- containers ------------------------------------------------------------------------ */

/* Files that only containers have, and the `container=` value in the environment of their init. */
static const struct {
    const char *path;
    struct kind kind;
} container_files[] = {
    { ".dockerenv", { "container", "Docker" } },
    { "run/.containerenv", { "container", "Podman" } },
};

static const struct {
    const char *word;
    struct kind kind;
} container_words[] = {
    { "docker", { "container", "Docker" } },
    { "podman", { "container", "Podman" } },
    { "lxc", { "container", "LXC" } },
    { "lxc-libvirt", { "container", "LXC" } },
    { "systemd-nspawn", { "container", "systemd-nspawn" } },
};

/* "container=lxc", among texts that end in NUL. */
static struct str find_container_word(struct scan *scan)
{
    struct str word = scan_line(scan, "run/systemd/container");
    struct str rest = scan_read(scan, "proc/1/environ", ENVIRON_MAX);

    while (!word.p && rest.p) {
        struct str entry = str_cut(&rest, '\0');

        if (str_starts(entry, STR("container=")))
            word = str_from_offset(entry, strlen("container="));
    }
    return word;
}

static bool find_container(struct scan *scan, struct kind *ret)
{
    struct str word = find_container_word(scan);

    for (size_t i = 0; i < ARRAY_LEN(container_files); i++)
        if (scan_exists(scan, container_files[i].path)) {
            *ret = container_files[i].kind;
            return true;
        }
    if (word.n == 0)
        return false;
    *ret = (struct kind){ "container", arena_strndup(scan->arena, word.p, word.n) };
    for (size_t i = 0; i < ARRAY_LEN(container_words); i++)
        if (str_is(word, container_words[i].word))
            *ret = container_words[i].kind;
    return true;
}

/* --- hypervisors ------------------------------------------------------------------------ */

/* The texts of the firmware, in `sys_vendor` or `product_name`. */
static const struct {
    const char *words;
    struct kind kind;
} firmware_words[] = {
    { "QEMU", { "kvm", NULL } },
    { "KVM", { "kvm", NULL } },
    { "VMware", { "VMware", NULL } },
    { "VirtualBox", { "VirtualBox", NULL } },
    { "Microsoft Corporation Virtual Machine", { "HyperV", NULL } },
    { "Google Compute Engine", { "gce", NULL } },
    { "OpenStack", { "kvm", NULL } },
    { "Amazon EC2", { "Nitro", "Amazon EC2" } },
    { "Bochs", { "kvm", NULL } },
    { "Xen", { "xen", NULL } },
    { "Parallels", { "Parallels", NULL } },
    { "Apple Virtualization", { "Apple", NULL } },
};

static struct kind find_hypervisor(struct scan *scan)
{
    struct str vendor = scan_line(scan, "sys/class/dmi/id/sys_vendor");
    struct str product = scan_line(scan, "sys/class/dmi/id/product_name");
    struct str cpu = scan_read(scan, "proc/cpuinfo", CPUINFO_MAX);
    struct str flags = scan_field(scan, cpu, "flags", ':');
    struct str words =
        str_from(arena_printf(scan->arena, "%.*s %.*s", STR_ARG(vendor), STR_ARG(product)));

    for (size_t i = 0; i < ARRAY_LEN(firmware_words); i++)
        if (str_find(words, str_from(firmware_words[i].words), 0) != STR_NONE)
            return firmware_words[i].kind;
    if (scan_exists(scan, "proc/xen"))
        return (struct kind){ "xen", NULL };
    for (struct str flag = scan_word(&flags); flag.p; flag = scan_word(&flags))
        if (str_is(flag, "hypervisor"))
            return (struct kind){ "kvm", NULL };
    return (struct kind){ "physical", NULL };
}

/* --- the family -------------------------------------------------------------------------- */

static const struct {
    const char *fact, *path;
} firmware[] = {
    { "manufacturer", "sys/class/dmi/id/sys_vendor" },
    { "productname", "sys/class/dmi/id/product_name" },
    { "serialnumber", "sys/class/dmi/id/product_serial" },
    { "uuid", "sys/class/dmi/id/product_uuid" },
    { "biosversion", "sys/class/dmi/id/bios_version" },
    { "biosreleasedate", "sys/class/dmi/id/bios_date" },
};

void facts_hardware(struct scan *scan)
{
    struct kind kind;

    if (!find_container(scan, &kind))
        kind = find_hypervisor(scan);
    scan_add_text(scan, scan->facts, "virtual", str_from(kind.name));
    if (kind.subtype)
        scan_add_text(scan, scan->facts, "virtual_subtype", str_from(kind.subtype));
    for (size_t i = 0; i < ARRAY_LEN(firmware); i++)
        scan_add_text(scan, scan->facts, firmware[i].fact, scan_line(scan, firmware[i].path));
    scan_add(scan, scan->facts, "efi", value_bool(scan_exists(scan, "sys/firmware/efi")));
}
