// Address of an embedded server, as driver settings and as a URL like DATABASE_URL.

import { port } from "./data-directory.ts";

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Explicit, so that PGSSLMODE has no effect. */
  readonly ssl: false;
}

/** The cluster's owner, for migrations; the restricted role for serving; and their database. */
export const ownerRole = "gantry";
export const serverRole = "gantry_server";
export const database = "gantry";

/** Returns the address of a database behind this socket. */
export const addressIn = (socketDirectory: string, name: string, user: string = ownerRole): ServerAddress => ({
  host: socketDirectory,
  port,
  user,
  database: name,
  ssl: false,
});

/** Returns the address as a URL. The directory is a parameter, because a host cannot contain slashes. */
export const databaseUrlOf = ({ host, port: number, user: name, database: path }: ServerAddress): string =>
  `postgresql:///${path}?${new URLSearchParams({ host, port: String(number), user: name, sslmode: "disable" })}`;
