// A straightforward List: fastify, a pg pool, jose for the token, the caller's role bindings, a page and a count, dates as ISO
// text. Neither optimized nor slow on purpose: it also uses the primary key.

import fastify from "fastify";
import { createRemoteJWKSet, jwtVerify } from "jose";
import pg from "pg";

interface Binding {
  readonly place: string;
  readonly capabilities: readonly string[];
}

interface Row {
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  readonly catalog_tier: string;
  readonly bundles: readonly string[];
  readonly aliases: readonly string[];
  readonly active_tags: readonly string[];
  readonly sync_config: object | null;
  readonly custom_overlay: object | null;
  readonly create_time: Date;
  readonly update_time: Date;
}

const issuer = process.env.BASELINE_ISSUER ?? "";
const pool = new pg.Pool({ host: process.env.BASELINE_DATABASE_HOST, port: 5432, user: "gantry", database: "gantry" });
const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));

const repoOf = (row: Row): object => ({
  uid: row.uid,
  name: row.name,
  ...(row.description === "" ? {} : { description: row.description }),
  ...(row.catalog_tier === null ? {} : { catalogTier: row.catalog_tier }),
  ...(row.bundles === null ? {} : { bundles: row.bundles }),
  ...(row.aliases === null ? {} : { aliases: row.aliases }),
  ...(row.active_tags === null ? {} : { activeTags: row.active_tags }),
  ...(row.sync_config ? { sync_config: row.sync_config } : {}),
  ...(row.custom_overlay ? { customOverlay: row.custom_overlay } : {}),
  createTime: row.create_time.toISOString(),
  updateTime: row.update_time.toISOString(),
});

const app = fastify();

app.get<{ Querystring: { page_size?: string; page_token?: string } }>("/registry/v2/repos", async (request, reply) => {
  const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
  const { payload } = await jwtVerify(token, keys, { issuer, audience: issuer });
  const { rows: bindings } = await pool.query<Binding>(
    "select left(b.uid, -17) as place, r.capabilities from role_bindings b join roles r on r.uid = b.role_uid where b.identity_uid = $1",
    [payload.sub],
  );
  const binding = bindings.find(({ capabilities }) => capabilities.includes("CAP_REPO_LIST"));
  if (!binding) return reply.code(403).send({ error: "permission denied" });

  const [low, high] = [binding.place, `${binding.place}0`];
  const size = Math.min(Number(request.query.page_size ?? 50), 200);
  const after = request.query.page_token ? Buffer.from(request.query.page_token, "base64url").toString() : low;
  const { rows } = await pool.query<Row>(
    `select uid, name, description, catalog_tier, bundles, aliases, active_tags, sync_config, custom_overlay, create_time, update_time
     from repos where uid > $1 and uid < $2 order by uid limit $3`,
    [after, high, size + 1],
  );
  const { rows: counted } = await pool.query<{ count: string }>("select count(*) from repos where uid >= $1 and uid < $2", [low, high]);
  const shown = rows.slice(0, size);
  return {
    repos: shown.map(repoOf),
    ...(rows.length > size ? { nextPageToken: Buffer.from(shown.at(-1)?.uid ?? "").toString("base64url") } : {}),
    totalCount: counted[0]?.count,
    skipped: 0,
  };
});

await app.listen({ host: "127.0.0.1", port: Number(process.env.BASELINE_PORT) });
process.send?.("ready");
