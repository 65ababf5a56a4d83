// Linux distributions in OSV: the release of a package URL, and the ecosystem names that cover it. Queries by package URL and
// image matching share these rules, so that both return the same verdict. Pure.

export interface Distribution {
  /** The OSV ecosystem, such as "Rocky Linux"; "" if unknown. */
  readonly family: string;
  /** Such as "12", "22.04", "3.18.4", "15.5" (SUSE 15 SP5) or "tumbleweed"; "" if unknown. */
  readonly release: string;
}

/**
 * OSV ecosystems by type and namespace of a package URL, or by the ID of `os-release`, which syft and trivy write into `distro`.
 * Amazon Linux and Oracle Linux are not in OSV's schema, but have records.
 */
const families: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "apk alpine": "Alpine",
    "apk wolfi": "Wolfi",
    "apk chainguard": "Chainguard",
    "apk minimos": "MinimOS",
    "apk alpaquita": "Alpaquita",
    "apk bellsoft-hardened-containers": "BellSoft Hardened Containers",
    "deb debian": "Debian",
    "deb ubuntu": "Ubuntu",
    "deb echo": "Echo",
    "rpm almalinux": "AlmaLinux",
    "rpm alma": "AlmaLinux",
    "rpm rocky-linux": "Rocky Linux",
    "rpm rocky": "Rocky Linux",
    "rpm rockylinux": "Rocky Linux",
    "rpm redhat": "Red Hat",
    "rpm rhel": "Red Hat",
    "rpm suse": "SUSE",
    "rpm sles": "SUSE",
    "rpm sled": "SUSE",
    "rpm sle-micro": "SUSE",
    "rpm sl-micro": "SUSE",
    "rpm opensuse": "openSUSE",
    "rpm opensuse-leap": "openSUSE",
    "rpm opensuse-tumbleweed": "openSUSE",
    "rpm opensuse.leap": "openSUSE",
    "rpm opensuse.tumbleweed": "openSUSE",
    "rpm amzn": "Amazon Linux",
    "rpm amazon": "Amazon Linux",
    "rpm amazonlinux": "Amazon Linux",
    "rpm ol": "Oracle Linux",
    "rpm oracle": "Oracle Linux",
    "rpm oraclelinux": "Oracle Linux",
    "rpm photon": "Photon OS",
    "rpm openeuler": "openEuler",
    "rpm azurelinux": "Azure Linux",
    "rpm azure-linux": "Azure Linux",
    "rpm mageia": "Mageia",
  }),
);

const familyNames: ReadonlySet<string> = new Set(families.values());

export const isDistribution = (ecosystem: string): boolean => familyNames.has(ecosystem);

export const isDistributionType = (type: string): boolean => type === "apk" || type === "deb" || type === "rpm";

/** https://wiki.debian.org/DebianReleases, https://wiki.ubuntu.com/Releases */
const codeNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    jessie: "8",
    stretch: "9",
    buster: "10",
    bullseye: "11",
    bookworm: "12",
    trixie: "13",
    forky: "14",
    trusty: "14.04",
    xenial: "16.04",
    bionic: "18.04",
    focal: "20.04",
    jammy: "22.04",
    mantic: "23.10",
    noble: "24.04",
    oracular: "24.10",
    plucky: "25.04",
    questing: "25.10",
  }),
);

/** Returns "15.5" for "sles-15-sp5", "15 sp5" and "15sp5". */
const servicePackIn = (words: readonly string[]): string | undefined => {
  const last = words.at(-1) ?? "";
  const [, pack] = /^sp(\d+)$/.exec(last) ?? [];
  if (pack !== undefined) return `${words.at(-2) ?? ""}.${pack}`;
  const [, major, ownPack] = /^(\d+)sp(\d+)$/.exec(last) ?? [];
  return ownPack === undefined ? undefined : `${major}.${ownPack}`;
};

/** Returns the release in "debian-12", "bookworm", "sles-15.5" or "opensuse-tumbleweed-20240102"; "" if there is none. */
const releaseIn = (distro: string): string => {
  const words = distro.toLowerCase().split(/[-_ ]/);
  if (words.includes("tumbleweed") || distro.toLowerCase().includes(".tumbleweed")) return "tumbleweed";
  const last = words.at(-1) ?? "";
  const [, numbers] = /^v?(\d[0-9.]*)$/.exec(last) ?? [];
  return servicePackIn(words) ?? numbers ?? codeNames.get(last) ?? "";
};

/** Returns "opensuse-leap" for "opensuse-leap-15.5". */
const idIn = (distro: string): string => {
  const words = distro.toLowerCase().split(/[-_ ]/);
  const release = words.findIndex((word) => /^v?\d/.test(word));
  return words.slice(0, release < 0 ? words.length : release).join("-");
};

export const distributionOf = (type: string, namespace: string, distro: string): Distribution => {
  const family = families.get(`${type} ${namespace.toLowerCase()}`) ?? families.get(`${type} ${idIn(distro)}`) ?? "";
  // Rolling: the date in their os-release is not a release.
  const isRolling = family === "Wolfi" || family === "Chainguard" || family === "MinimOS";
  return { family, release: isRolling ? "" : releaseIn(distro) };
};

const isOfRelease = (named: string, release: string): boolean => named !== "" && (named === release || release.startsWith(`${named}.`));

/** `Ubuntu:22.04`, `Ubuntu:22.04:LTS` and `Ubuntu:Pro:22.04:LTS`. FIPS and other Pro builds are different packages. */
const coversUbuntu = ([first = "", second = ""]: readonly string[], release: string): boolean => (first === "Pro" ? second : first) === release;

/**
 * CPE names: `enterprise_linux:9::appstream`, `rhel_eus:9.2::baseos`. Other products, such as `openshift:4.14::el9`, are not
 * releases.
 */
const coversRedHat = ([product = "", version = ""]: readonly string[], release: string): boolean =>
  /^(?:enterprise_linux|rhel_(?:eus|aus|tus|e4s|els|eus_long_life|extras_rt))$/.test(product) && isOfRelease(version, release);

/** `Linux Enterprise Server 15 SP5`, `Linux Enterprise Module for Basesystem 15 SP5`, `Linux Enterprise Micro 5.3`. */
const coversSuse = ([product = ""]: readonly string[], release: string): boolean => {
  if (!/^(?:Linux Enterprise|Package Hub) /.test(product)) return false;
  const words = product.split(" ").map((word) => word.split("-", 1)[0] ?? "");
  const at = words.findLastIndex((word) => /^\d/.test(word));
  const [, pack] = /^SP(\d+)$/.exec(words[at + 1] ?? "") ?? [];
  const named = [words[at] ?? "", ...(pack === undefined ? [] : [pack])].join(".");
  // Modules of SUSE 12 apply to all service packs.
  return named === release || `${named}.0` === release || (/ Module /.test(product) && pack === undefined && isOfRelease(named, release));
};

/** `Leap 15.5`, `Tumbleweed`. */
const coversOpenSuse = ([product = ""]: readonly string[], release: string): boolean => product.toLowerCase().replace(/^leap /, "") === release;

const covers: ReadonlyMap<string, (suffixes: readonly string[], release: string) => boolean> = new Map([
  ["Ubuntu", coversUbuntu],
  ["Red Hat", coversRedHat],
  ["SUSE", coversSuse],
  ["openSUSE", coversOpenSuse],
]);

/**
 * Returns true if the ecosystem's records apply to the release. Without a suffix they apply to all; with one never to an unknown
 * release.
 */
export const coversRelease = (ecosystem: string, { family, release }: Distribution): boolean => {
  const [name = "", ...suffixes] = ecosystem.split(":");
  if (name !== family) return false;
  if (suffixes.length === 0) return true;
  if (release === "") return false;
  return covers.get(family)?.(suffixes, release) ?? isOfRelease((suffixes[0] ?? "").replace(/^v(?=\d)/, ""), release);
};
