// Where an embedded server listens, as the driver's settings and as an address of the form that DATABASE_URL takes.

import { port } from "./data-directory.ts";

export interface ServerAddress {
  /** The folder of the socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Said outright: the environment (PGSSLMODE) must not decide it. */
  readonly ssl: false;
}

/** The cluster's owner, who migrates; the role that serves, which may do nothing but that; and the database of both. */
export const ownerRole = "gantry";
export const serverRole = "gantry_server";
export const database = "gantry";

/** A database of the server whose socket is in this folder. */
export const addressIn = (socketDirectory: string, name: string, user: string = ownerRole): ServerAddress => ({
  host: socketDirectory,
  port,
  user,
  database: name,
  ssl: false,
});

/** The same as one text. The folder is a parameter of it: as the host it could not hold slashes. */
export const databaseUrlOf = ({ host, port: number, user: name, database: path }: ServerAddress): string =>
  `postgresql:///${path}?${new URLSearchParams({ host, port: String(number), user: name, sslmode: "disable" })}`;
