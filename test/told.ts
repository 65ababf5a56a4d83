// In test databases, a transaction that writes a resource's row without an event for it fails at commit and names the row. Every
// test thus proves that each change has an event (server/kernel/change.ts).

import { operatorUid } from "#base/operator.ts";
import { resources } from "../server/application/resources.ts";
import type { Write } from "#db";

/**
 * Columns that change without an event, by table, with the reason. All other changes need an event of the same transaction with
 * the row as subject or in its audit context (batches).
 */
const untoldColumns: Readonly<Record<string, readonly string[]>> = {
  // Requests record the last use at most once a minute; sign-ins have their own event.
  identities: ["last_seen_time"],
  // A trigger copies them from the organization, whose event covers it.
  groups: ["kind", "status"],
  // Events of an expiry are about the group.
  finding_decisions: ["expiring_reported", "expired_reported"],
  // Deliveries report a sink's health; disabling it is an event.
  subscriptions: ["failing_since"],
};

const events = (table: string): boolean =>
  resources.some((resource) => resource.table === table && resource.operations.some(({ rpc, event }) => event && /^(?:Create|Update|Delete)/.test(rpc)));

const tables = [...new Set(resources.flatMap(({ table }) => (table && events(table) ? [table] : [])))].sort();

// Built-in roles and the operator's identity are written at each start, above every organization, and have no subscribers.

/**
 * Returns the statements that make a database refuse changes without events. The functions run as the owner, the only role with
 * access to the table.
 */
export const refuseUntold = (): string => `
  create unlogged table told_rows (transaction xid8, uid text, primary key (transaction, uid));

  create function note_told() returns trigger language plpgsql security definer as $$
  begin
    insert into told_rows
    select pg_current_xact_id(), uid
    from (select new.subject union select jsonb_array_elements_text(coalesce(new.audit_context -> 'resources', '[]'::jsonb))) as named(uid)
    on conflict do nothing;
    return null;
  end $$;
  create trigger note_told after insert on outbox for each row execute function note_told();

  create function refuse_untold() returns trigger language plpgsql security definer as $$
  declare
    row_before jsonb := case when tg_op = 'INSERT' then '{}'::jsonb else to_jsonb(old) end;
    row_after jsonb := case when tg_op = 'DELETE' then '{}'::jsonb else to_jsonb(new) end;
    row_uid text := coalesce(row_after ->> 'uid', row_before ->> 'uid');
    untold text[] := string_to_array(tg_argv[0], ',');
  begin
    if current_setting('gantry.untold', true) = 'on' then return null; end if;
    if tg_op = 'UPDATE' and row_before - untold = row_after - untold then return null; end if;
    if (tg_table_name = 'roles' and length(row_uid) = 40) or row_uid = '${operatorUid}' then return null; end if;
    if not exists (select from told_rows where transaction = pg_current_xact_id() and uid = row_uid) then
      raise exception 'untold: % of % in % has no event in its transaction', lower(tg_op), row_uid, tg_table_name;
    end if;
    return null;
  end $$;
  ${tables
    .map(
      (table) => `
  create constraint trigger refuse_untold after insert or update or delete on ${table} deferrable initially deferred
    for each row execute function refuse_untold('${(untoldColumns[table] ?? []).join(",")}');`,
    )
    .join("")}`;

/** Lets this transaction write rows without events: fixtures of a test. */
export const plant = async (rows: Write): Promise<Write> => {
  await rows.query("select set_config('gantry.untold', 'on', true)");
  return rows;
};
