// Tests the mapping of package URLs to distribution releases and ecosystems.

import assert from "node:assert/strict";
import { test } from "node:test";
import { coversRelease, distributionOf } from "./distribution.ts";

test("a package URL identifies the distribution and its release by namespace and distro", () => {
  for (const [type, namespace, distro, family, release] of [
    ["deb", "debian", "debian-12", "Debian", "12"],
    ["deb", "debian", "bookworm", "Debian", "12"],
    ["deb", "Debian", "debian-12.4", "Debian", "12.4"],
    ["deb", "debian", "sid", "Debian", ""],
    ["deb", "debian", "", "Debian", ""],
    ["deb", "ubuntu", "ubuntu-22.04", "Ubuntu", "22.04"],
    ["deb", "ubuntu", "jammy", "Ubuntu", "22.04"],
    ["apk", "alpine", "alpine-3.18.4", "Alpine", "3.18.4"],
    ["apk", "alpine", "v3.18", "Alpine", "3.18"],
    ["apk", "wolfi", "wolfi-20230201", "Wolfi", ""],
    ["rpm", "rhel", "rhel-9.2", "Red Hat", "9.2"],
    ["rpm", "", "rhel-9.2", "Red Hat", "9.2"],
    ["rpm", "suse", "sles-15.5", "SUSE", "15.5"],
    ["rpm", "suse", "sles-15-SP5", "SUSE", "15.5"],
    ["rpm", "opensuse", "opensuse-leap-15.5", "openSUSE", "15.5"],
    ["rpm", "opensuse", "opensuse-tumbleweed-20240101", "openSUSE", "tumbleweed"],
    ["rpm", "amzn", "amzn-2023", "Amazon Linux", "2023"],
    ["rpm", "ol", "ol-9.3", "Oracle Linux", "9.3"],
    ["rpm", "photon", "photon-4.0", "Photon OS", "4.0"],
    ["rpm", "fedora", "fedora-39", "", "39"],
    ["deb", "rhel", "", "", ""],
  ] as const)
    assert.deepEqual(distributionOf(type, namespace, distro), { family, release }, `${type} ${namespace} ${distro}`);
});

test("an ecosystem covers exactly the releases that it names", () => {
  for (const [ecosystem, family, release, isCovered] of [
    ["Debian", "Debian", "12", true],
    ["Debian", "Debian", "", true],
    ["Debian:12", "Debian", "12", true],
    ["Debian:12", "Debian", "12.4", true],
    ["Debian:1", "Debian", "12", false],
    ["Debian:12", "Debian", "", false],
    ["Debian:12", "Ubuntu", "12", false],
    ["Alpine:v3.1", "Alpine", "3.18.4", false],
    ["Alpine:v3.18", "Alpine", "3.18.4", true],
    ["Ubuntu:22.04:LTS", "Ubuntu", "22.04", true],
    ["Ubuntu:Pro:22.04:LTS", "Ubuntu", "22.04", true],
    ["Ubuntu:Pro:FIPS:22.04:LTS", "Ubuntu", "22.04", false],
    ["Ubuntu:22.10", "Ubuntu", "22.04", false],
    ["Red Hat:enterprise_linux:9::baseos", "Red Hat", "9.3", true],
    ["Red Hat:enterprise_linux:9", "Red Hat", "9", true],
    ["Red Hat:enterprise_linux:9::baseos", "Red Hat", "8.9", false],
    ["Red Hat:rhel_eus:9.2::baseos", "Red Hat", "9.2", true],
    ["Red Hat:rhel_eus:9.2::baseos", "Red Hat", "9.3", false],
    ["Red Hat:openshift:4.14::el9", "Red Hat", "4.14", false],
    ["SUSE:Linux Enterprise Server 15 SP5", "SUSE", "15.5", true],
    ["SUSE:Linux Enterprise Server 15 SP5-LTSS", "SUSE", "15.5", true],
    ["SUSE:Linux Enterprise Server 15 SP5", "SUSE", "15.4", false],
    ["SUSE:Linux Enterprise Server 15", "SUSE", "15.5", false],
    ["SUSE:Linux Enterprise Module for Web and Scripting 12", "SUSE", "12.5", true],
    ["SUSE:Linux Enterprise Server 12", "SUSE", "12.5", false],
    ["SUSE:Linux Enterprise Micro 5.3", "SUSE", "5.3", true],
    ["SUSE:Manager Server 4.3", "SUSE", "4.3", false],
    ["openSUSE:Leap 15.5", "openSUSE", "15.5", true],
    ["openSUSE:Tumbleweed", "openSUSE", "tumbleweed", true],
    ["openSUSE:Leap 15.5", "openSUSE", "tumbleweed", false],
  ] as const)
    assert.equal(coversRelease(ecosystem, { family, release }), isCovered, `${ecosystem} ${release}`);
});
