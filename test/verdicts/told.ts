// Hand-written verdicts on each record of test/fixtures/verdicts, by package: ascending versions, each with + for affected, - for not
// affected, ? for undecidable, w for a withdrawn record.

export const told: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "PYSEC-2025-9001": {
    "PyPI sail":
      "-0 -0.9 -1.0.dev0 -1.0rc1 +1.0 +1.0.post1 +1.4.1 +1.4.2rc1 -1.4.2 -1.9 -2.0rc1 +2.0 +2.0.9 -2.1 -2.9 -3.0b9 +3.0rc1 +3.0 +3.0.0.1 -3.0.1 -4 -1!0.1",
  },
  "GO-2025-9002": {
    "Go example.com/mast":
      "-0.0.0-0 -2.8.9 -2.9.0-rc.1 +2.9.0 +2.9.3 +2.9.4-0 -2.9.4 -2.9.99 " +
      "+2.10.0-0 +2.10.0 +2.10.1 -2.10.2 -2.11.0-rc1 +2.11.0 +2.11.1-0.20250101000000-abcdef012345 -2.11.1 -3.0.0+incompatible",
  },
  "GHSA-9zer-9zer-9zer": { "npm rudder": "+0.0.0-0 +0.0.0 +1.2.2 +1.2.3-0 +1.2.3-zzz -1.2.3 -1.2.4-0 -2.0.0" },
  "GHSA-9lat-9lat-9lat": { "npm @deck/rudder": "-0.0.0 -0.9.9 -1.0.0-rc.1 +1.0.0 +1.2.2 +1.2.3-0 -1.2.3 -2.0.0" },
  "GHSA-9nev-9nev-9nev": { "npm keel": "-0.0.1 -1.9.9 -2.0.0-0 +2.0.0 +2.0.1 +99.0.0" },
  "GHSA-9las-9las-9las": { "RubyGems anchor": "-0.9 -1.1.a +1.1 +1.1.9 +1.2.rc1 +1.2 -1.2.0.1 -1.2.1.a -1.3" },
  "GHSA-9lim-9lim-9lim": { "npm buoy": "-0.9.0 +1.0.0 +1.9.9 +2.0.0-rc.1 -2.0.0 -2.0.1 -3.0.0-0 +3.0.0 +3.0.9 -3.1.0" },
  "PYSEC-2025-9008": { "PyPI hull-paint": "-0.8 +0.9 -0.9.1 +1.0 -1.0+local +1.0.post1 -1.0.post2 -1.1" },
  "PYSEC-2025-9009": { "PyPI flag": "w0 w0.9 w1.0 w1.1" },
  "PYSEC-2025-9010": { "PyPI rope": "-0.1.dev6 +0.1.dev7 -0.1 +0.2 +0.3 +0.3.9 +0.4rc1 -0.4 -1.0" },
  "PYSEC-2025-9011": { "PyPI knot": "-0.9 +1.0 -1.0.1 +1.1 -1.2" },
  "GO-2025-9013": {
    "Go example.com/tiller": "+0.0.0-20200101000000-abcdef012345 +1.0.0 -1.0.1 -1.1.0-rc.1 +1.1.0 +1.1.3 -1.1.4",
    "Go example.com/tiller/v2": "-1.9.9 +2.0.0 +2.0.2 -2.0.3",
    "Go stdlib": "-1.20.9 +1.21.0-0 +1.21.0-rc.2 +1.21.0 +1.21.2 -1.21.3",
  },
  "GHSA-9one-9one-9one": { "crates.io plank": "-0.9.9 -1.0.0-rc.1 +1.0.0 -1.0.1-0 -1.0.1" },
  "GHSA-9gha-9gha-9gha": {
    "PyPI bowline": "-0.9 -1.0rc1 +1.0 +1.4.9 +1.5rc1 -1.5 -1.9 -2.0.dev1 +2.0 +2.3 +2.3.1 +2.4rc1 -2.4 -3.0",
    "npm @deck/hitch": "+0.0.0 +1.2.2 +1.2.3-rc.1 -1.2.3 -2.0.0",
    "npm hitch": "-0.9.9 -1.0.0-rc.1 +1.0.0 -1.0.1",
    "crates.io splice": "-1.1.9 -1.2.0 +1.2.1-0 +1.2.1 +1.9.9 +2.0.0-rc.1 -2.0.0 -2.0.1",
    "RubyGems bend": "+0.1 +1.2.a +1.2 -1.2.0.1 -1.2.1 -2.0",
    "Maven org.example:reef": "-2.9 -3.0-beta-1 +3.0 +3.0.1 +99",
  },
  "GHSA-9ghb-9ghb-9ghb": { "Packagist example/sheet": "-0.9.0 -1.0.0-beta1 +1.0.0 +1.0.1 +1.0.2-RC1 -1.0.2 -1.1.0" },
  "GHSA-9act-9act-9act": { "OSS-Fuzz deck/wash": "?v1 +v2 ?v3", "OSS-Fuzz deck/all": "+v1 +main" },
  "PYSEC-2025-9016": { "PyPI fog": "?0 +0.1 ?0.2" },
  "GHSA-9all-9all-9all": {
    "Maven org.example:capstan": "-1.0-alpha-1 -1.0-beta-2 +1.0-rc1 +1.0-SNAPSHOT +1.0 +1.0-jre +1.0.1 +1.0.2-rc1 -1.0.2 -1.0.10",
    "NuGet Capstan": "-0.9.0 -1.0.0-rc +1.0.0 +1.0.0.1 +1.0.0.2-beta -1.0.0.2 -1.0.1",
    "Packagist example/capstan": "-1.0-dev -1.0-alpha9 +1.0-beta1 +1.0-beta10 +1.0-RC1 -1.0 -1.0-p1 -1.1",
    "Pub capstan": "-1.0.0-dev -1.0.0 +1.0.0+1 +1.0.0+2 -1.0.0+3 -1.0.0+10 -1.0.1",
    "Hex capstan": "+0.2.9 +0.3.0-rc.0 -0.3.0 -1.0.0",
    "Julia Capstan": "+0.2.9 +0.3.0-DEV -0.3.0 -1.0.0",
    "Bitnami capstan": "-0.9.0 +1.0.0 +1.0.0-0 +1.1.9 +1.2.0-rc1 -1.2.0 -1.2.0-0 -1.2.0-3 -1.2.1",
    "Debian:12 capstan": "+0.9-1 +2.0-1 +1:1.0~rc1-1 +1:1.0-1 +1:1.0-2 +1:1.0-2+deb12u1~bpo1 -1:1.0-2+deb12u1 -1:1.0-2+deb12u2 -1:1.0-10 -1:1.1-1",
    "AlmaLinux:9 capstan": "+0.9-1.el9 +1.0~rc1-5.el9 +1.0-1.el9 +1.0-2.el9 +1.0-2.el9_3 -1.0-2.el9_4 -1.0-10.el9 -1.0^git1-1.el9 -1:0.1-1.el9",
    "Alpine:v3.20 capstan": "+0.9-r9 +1.0_rc1-r0 +1.0-r9 +1.0_p1-r0 +1.0_p1-r1 -1.0_p1-r2 -1.0_p1-r10 -1.0_p2-r0 -1.0a-r0 -1.1-r0",
    "Hackage capstan": "-0.8.9 +0.9 +0.9.0 +0.10 +0.10.0 -0.10.1 -0.11",
    "CRAN capstan": "-0.9 -0.9-1 +0.9-2 +0.10 +0.10-1 -0.10-1.1 -0.10-2 -1.0",
    "opam capstan": "-0.9 -1.0~alpha +1.0~beta1 +1.0~rc1 -1.0 -1.0.1",
  },
  "CGA-9h9h-9h9h-9h91": { "Wolfi hawser": "+1.1.9-r9 +1.2.0_rc1-r0 +1.2.0-r2 -1.2.0-r3 -1.2.0-r10 -1.2.1-r0" },
  "CGA-9h9h-9h9h-9h92": { "Wolfi hawser": "-1.1.9-r9 -1.2.0-r3" },
  "CGA-9h9h-9h9h-9h93": { "Wolfi hawser": "+1.1.9-r9 +1.2.0-r3 +99-r0" },
  // Fixed again after an unsafe fix; a fix that was not needed; a final fix; reopened; two that differ.
  "CGA-9w9w-9w9w-9w91": { "Wolfi winch": "+0.9-r0 +1.0-r1 +1.1-r9 -1.2-r0 -1.3-r0" },
  "CGA-9w9w-9w9w-9w92": { "Wolfi winch": "+1.0-r0 +1.9-r9 -2.0-r0" },
  "CGA-9w9w-9w9w-9w93": { "Wolfi winch": "+1.4-r9 -1.5-r0 -9-r0" },
  "CGA-9w9w-9w9w-9w94": { "Wolfi winch": "+0.9-r0 +1.0-r0 +9-r0" },
  "CGA-9w9w-9w9w-9w95": { "Wolfi winch": "+0.9-r0 -1.0-r0 -2.0-r0" },
  "CGA-9w9w-9w9w-9w96": { "Wolfi winch": "+0.9-r0 +1.0-r0 -2.0-r0" },
  "RUSTSEC-2025-9101": {
    "crates.io spar":
      "-0.0.0-0 -0.2.9 -0.3.0-alpha.9 -0.3.0-beta.1 +0.3.0-beta.2 +0.3.0 +0.4.1 +0.4.2-rc.1 -0.4.2 -0.4.99 " +
      "+0.5.0-0 +0.5.0 +0.5.2 -0.5.3 -0.5.9 -0.6.0-rc.1 +0.6.0 +1.0.0 -1.0.1-0 -1.0.1 -2.0.0",
  },
  "RUSTSEC-2025-9102": { "crates.io boom": "+0.0.0-0 +0.1.0 +99.0.0" },
  "RUSTSEC-2025-9103": { "crates.io yard": "-0.1.0 -1.0.3-rc.1 -1.0.3 +1.0.4-0 +1.0.4 +1.1.0-rc.1 -1.1.0 +1.1.1-0 +1.1.1 +1.2.0-rc.1 -1.2.0 -2.0.0" },
  "RUSTSEC-2025-9104": {
    "crates.io gaff": "+0.9.0 +1.0.0-rc.1 -1.0.0 -1.0.9 +1.1.0-0 +1.3.9 +1.4.0-rc.1 -1.4.0 -1.4.9 +1.5.0-0 +1.5.0 +2.0.0-rc.1 -2.0.0 -2.9.9 +3.0.0-0 +3.0.0",
  },
};
