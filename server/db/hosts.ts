// Reads the hosts of DATABASE_URL. libpq accepts lists, the driver does not. So each host gets its own URL, and TLS verifies its own name.

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";

export interface Host {
  /** For display; contains no password. */
  readonly name: string;
  /** For the driver. */
  readonly url: string;
}

const defaultPort = "5432";

interface Parts {
  readonly scheme: string;
  /** Includes the trailing "@". */
  readonly user: string;
  readonly authority: string;
  readonly path: string;
  readonly query: string;
}

/** Accepts passwords with unescaped characters. */
const splitAddress = (databaseUrl: string): Parts | undefined => {
  const scheme = ["postgresql://", "postgres://"].find((each) => databaseUrl.startsWith(each));
  if (scheme === undefined) return undefined;
  const [address = "", ...queries] = databaseUrl.slice(scheme.length).split("?");
  const [place = "", ...path] = address.split("/");
  const userLength = place.lastIndexOf("@") + 1;
  return {
    scheme,
    user: place.slice(0, userLength),
    authority: place.slice(userLength),
    path: path.length > 0 ? `/${path.join("/")}` : "",
    query: queries.join("?"),
  };
};

/** Both select the primary. */
const wantedServers = ["read-write", "primary"];

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;

/** Parses "a:5432", "[::1]:5433" or "%2Frun%2Fpostgresql". */
const readAuthority = (text: string): { host: string; port: string } | undefined => {
  const [, bracketed, plain, port = defaultPort] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) return undefined;
  try {
    return { host: decodeURIComponent(host), port };
  } catch {
    return undefined;
  }
};

/** Returns the hosts of a URL in order. Throws a one-line Fault that names `variable` and never contains the URL. */
export const readHosts = (variable: string, databaseUrl: string): readonly [Host, ...Host[]] => {
  const malformed = (reason: string): Fault => new Fault("FAILED_PRECONDITION", `${variable} ${reason}`);
  const parts = splitAddress(databaseUrl);
  // The driver accepts more forms for a single host, and reports its errors.
  if (parts === undefined) return [{ name: "", url: databaseUrl }];
  const { scheme, user, authority, path } = parts;
  const parameters = new URLSearchParams(parts.query);
  const inQuery = parameters.get("host") ?? "";
  // An escaped comma is part of a name, such as a socket's directory.
  const hosts = (/(?:^|&)host=([^&]*)/.exec(parts.query)?.[1] ?? "").split(",").map((each) => new URLSearchParams(`host=${each}`).get("host") ?? "");
  const attributes = parameters.get("target_session_attrs");
  if (attributes !== null && !wantedServers.includes(attributes))
    throw malformed("has a target_session_attrs that is not read-write: Gantry looks for the server that takes changes");
  if (!authority.includes(",") && hosts.length === 1) return [{ name: inQuery || authority, url: databaseUrl }];
  if (authority !== "" && inQuery !== "") throw malformed("names its hosts twice, before the database and behind it");
  if (authority !== "" && parameters.has("port")) throw malformed("has a port behind the database: each host of a list has its own, as in a:5432,b:5432");

  const ports = (parameters.get("port") ?? "").split(",");
  if (inQuery !== "" && ports.length > 1 && ports.length !== hosts.length) throw malformed(`names ${hosts.length} hosts and ${ports.length} ports`);
  const named =
    authority === ""
      ? hosts.map((host, index) => (host === "" ? undefined : { host, port: (ports.length > 1 ? ports[index] : ports[0]) || defaultPort }))
      : authority.split(",").map(readAuthority);
  for (const name of ["host", "port", "target_session_attrs"]) parameters.delete(name);
  const rest = parameters.size === 0 ? "" : `?${parameters}`;

  const found = named.map((each): Host => {
    if (each === undefined) throw malformed("contains an invalid host. A list has the form postgresql://user:password@a:5432,b:5432/database");
    const { host, port } = each;
    if (!isPort(port)) throw malformed("contains an invalid port. A port is a number from 1 to 65535");
    const inUrl = host.includes(":") ? `[${host}]` : encodeURIComponent(host);
    return { name: host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`, url: `${scheme}${user}${inUrl}:${port}${path}${rest}` };
  });
  const [first, ...others] = found;
  if (first === undefined || found.length > limits.databaseHostsMax) throw malformed(`names more than ${limits.databaseHostsMax} hosts`);
  if (new Set(found.map(({ name }) => name)).size < found.length) throw malformed("names a host twice");
  return [first, ...others];
};

/** Throws a one-line Fault. */
export const readReplicaHost = (replicaUrl: string): Host => {
  const variable = "GANTRY_READ_REPLICA_URL";
  if (splitAddress(replicaUrl) === undefined)
    throw new Fault("FAILED_PRECONDITION", `${variable} must be an address of the form postgresql://user:password@host/database`);
  const [host, ...others] = readHosts(variable, replicaUrl);
  if (others.length > 0) throw new Fault("FAILED_PRECONDITION", `${variable} must name one host: the lag of one replica is measured`);
  return host;
};
