// The hosts that DATABASE_URL names. libpq knows lists of them (postgresql://user:password@a:5432,b:5432/database), the
// driver knows one; so a list is read here, and each of its hosts gets an address of its own. Its name is what TLS checks.

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";

export interface Host {
  /** "db-a.example.com:5432", or a socket's folder with its port: for people. It holds no password. */
  readonly name: string;
  /** The address of this host alone, as the driver reads it. */
  readonly url: string;
}

const defaultPort = "5432";

interface Parts {
  /** "postgresql://" */
  readonly scheme: string;
  /** User and password with their "@", or nothing. */
  readonly user: string;
  readonly authority: string;
  readonly path: string;
  readonly query: string;
}

/** Undefined where it is no address of PostgreSQL's. A password may hold what its writer should have escaped. */
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

/** Both mean what every server wants. The others of libpq would lead it to a standby. */
const wantedServers = ["read-write", "primary"];

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;

/** One of "a:5432,[::1]:5433,%2Frun%2Fpostgresql"; undefined where it is none. */
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

/**
 * The hosts of an address, in its order: one, or those of a list. Throws a Fault of one line, which never shows the
 * address. `variable` names the setting that holds it.
 */
export const readHosts = (variable: string, databaseUrl: string): readonly [Host, ...Host[]] => {
  const malformed = (reason: string): Fault => new Fault("FAILED_PRECONDITION", `${variable} ${reason}`);
  const parts = splitAddress(databaseUrl);
  // Of one host the driver knows more forms than these; what they mean is told by whoever connects.
  if (parts === undefined) return [{ name: "", url: databaseUrl }];
  const { scheme, user, authority, path } = parts;
  const parameters = new URLSearchParams(parts.query);
  const inQuery = parameters.get("host") ?? "";
  // A comma that is escaped is one of a name: the folder of a socket may have any.
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

/** The host of GANTRY_READ_REPLICA_URL: one. Throws a Fault of one line. */
export const readReplicaHost = (replicaUrl: string): Host => {
  const variable = "GANTRY_READ_REPLICA_URL";
  if (splitAddress(replicaUrl) === undefined)
    throw new Fault("FAILED_PRECONDITION", `${variable} must be an address of the form postgresql://user:password@host/database`);
  const [host, ...others] = readHosts(variable, replicaUrl);
  if (others.length > 0) throw new Fault("FAILED_PRECONDITION", `${variable} must name one host: the lag of one replica is measured`);
  return host;
};
