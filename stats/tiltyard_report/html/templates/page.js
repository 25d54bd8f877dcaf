"use strict";
(() => {
  const KEYS = ["capability", "question", "arm", "agent", "outcome"];
  const all = (query, from) => [...(from || document).querySelectorAll(query)];
  const make = (tag, text) => { const made = document.createElement(tag); if (text !== undefined) made.textContent = text; return made; };

  // What a cell is sorted by: a share, else its first number, else its text.
  const worth = (text) => {
    const share = /^\s*(\d+)\/(\d+)/.exec(text);
    if (share) return share[1] / share[2];
    const number = /-?\d[\d,]*(\.\d+)?/.exec(text);
    return /^[\s$<>+~-]*(at least |over )?[$+-]?\d/.test(text) && number ? Number(number[0].replaceAll(",", "")) : text.toLowerCase();
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  };

  // A head that sorts; `sort` is told the column and 1 or -1.
  const sortable = (heads, sort) => heads.forEach((head, column) => {
    const button = make("button");
    button.type = "button";
    button.append(...head.childNodes);
    if (!button.textContent.trim()) return;
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(column, up ? 1 : -1);
    });
  });

  const fold = (table) => {
    const limit = Number(table.dataset.fold), body = table.tBodies[0];
    if (!limit || body.rows.length <= limit + 5) return () => {};
    const button = make("button");
    button.type = "button";
    button.className = "more";
    let open = false;
    const apply = () => {
      [...body.rows].forEach((row, place) => { row.classList.toggle("beyond", !open && place >= limit); row.style.display = !open && place >= limit ? "none" : ""; });
      button.textContent = open ? `Show the first ${limit} rows` : `Show all ${body.rows.length} rows`;
      button.setAttribute("aria-expanded", String(open));
    };
    button.addEventListener("click", () => { open = !open; apply(); });
    table.closest(".scroll").after(button);
    addEventListener("beforeprint", () => { open = true; apply(); });
    apply();
    return apply;
  };

  for (const table of all("table.sortable")) {
    const again = fold(table), body = table.tBodies[0];
    sortable([...table.tHead.rows[0].cells], (column, way) => {
      const rows = [...body.rows].map((row) => [worth(row.cells[column].textContent.trim()), row]);
      rows.sort((a, b) => way * compare(a[0], b[0]));
      body.append(...rows.map((pair) => pair[1]));
      again();
    });
  }
  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));

  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const part = target && target.closest("details");
    if (part) { part.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();

  // The filter lives in the address, so that links can carry it and a page can be shared.
  const given = new URLSearchParams(location.search), chosen = {};
  for (const key of KEYS) if (given.get(key)) chosen[key] = given.get(key);
  const selects = all(".filters select");
  for (const select of selects) {
    const value = chosen[select.name];
    if (value !== undefined && ![...select.options].some((option) => option.value === value)) delete chosen[select.name];
    else select.value = value || "";
  }
  const passes = (values) => KEYS.every((key) => !chosen[key] || values[key] === undefined || values[key] === chosen[key]);
  const links = all("a[data-carry]").map((link) => [link, link.getAttribute("href")]);
  const carry = (href) => {
    const [path, own] = href.split("?"), query = new URLSearchParams(own || "");
    for (const key of KEYS) if (chosen[key] && !query.has(key)) query.set(key, chosen[key]);
    const text = query.toString();
    return text ? `${path}?${text}` : path;
  };
  const renewed = [];
  const apply = () => {
    all("[data-filtered]").forEach((part) => { part.hidden = !passes(part.dataset); });
    links.forEach(([link, href]) => link.setAttribute("href", carry(href)));
    for (const table of all("table.counted")) {
      const left = [...table.tBodies[0].rows].filter((row) => !row.hidden).length;
      const note = document.getElementById(table.dataset.note);
      if (note) note.textContent = `${left.toLocaleString("en")} of ${table.tBodies[0].rows.length.toLocaleString("en")} shown`;
    }
    renewed.forEach((draw) => draw());
  };
  const remember = () => {
    const query = new URLSearchParams(location.search);
    KEYS.forEach((key) => (chosen[key] ? query.set(key, chosen[key]) : query.delete(key)));
    const text = query.toString();
    try { history.replaceState(null, "", (text ? `?${text}` : location.pathname) + location.hash); } catch { /* a page opened as a file may not */ }
  };
  for (const select of selects) select.addEventListener("change", () => {
    if (select.value) chosen[select.name] = select.value; else delete chosen[select.name];
    remember();
    apply();
  });
  for (const button of all(".filters button")) button.addEventListener("click", () => {
    KEYS.forEach((key) => delete chosen[key]);
    selects.forEach((select) => { select.value = ""; });
    remember();
    apply();
  });

  // The list of all runs: data in the page, of which only what is asked for becomes rows.
  const data = document.getElementById("runs-data");
  if (data) {
    const { questions, arms, agents, outcomes, rows } = JSON.parse(data.textContent);
    const table = document.getElementById("runs"), body = table.tBodies[0], note = document.getElementById("runs-note");
    const more = document.getElementById("runs-more"), step = 200;
    let limit = step;
    const values = (row) => ({ question: questions[row[0]][0], capability: questions[row[0]][1], arm: arms[row[1]][0], agent: agents[row[2]][0], outcome: outcomes[row[4]][0] });
    const number = (value, digits) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits }));
    const draw = () => {
      const found = rows.filter((row) => passes(values(row)));
      body.replaceChildren(...found.slice(0, limit).map((row) => {
        const [question, arm, agent, rep, outcome, tokens, usd, seconds] = row, line = make("tr"), name = make("th"), link = make("a", questions[question][0]);
        link.href = carry(`run/${questions[question][2]}/${arms[arm][1]}/${agents[agent][1]}/${rep}.html`);
        name.scope = "row";
        name.append(link);
        const end = make("td", outcomes[outcome][0]);
        end.className = outcomes[outcome][1];
        const amounts = [String(rep), number(tokens, 0), usd === null ? "–" : `$${number(usd, 4)}`, number(seconds, 1)].map((text) => { const cell = make("td", text); cell.className = "n"; return cell; });
        line.append(name, make("td", arms[arm][0]), make("td", agents[agent][0]), amounts[0], end, ...amounts.slice(1));
        return line;
      }));
      note.textContent = `${Math.min(limit, found.length).toLocaleString("en")} of ${found.length.toLocaleString("en")} runs shown, ${rows.length.toLocaleString("en")} in all`;
      more.hidden = found.length <= limit;
    };
    more.addEventListener("click", () => { limit += step; draw(); });
    const sorted = [(row) => questions[row[0]][0], (row) => arms[row[1]][0], (row) => agents[row[2]][0], (row) => row[3], (row) => outcomes[row[4]][0], (row) => row[5], (row) => row[6], (row) => row[7]];
    sortable([...table.tHead.rows[0].cells], (column, way) => {
      const key = sorted[column];
      rows.sort((a, b) => { const x = key(a), y = key(b); return x === null ? 1 : y === null ? -1 : way * compare(x, y); });
      draw();
    });
    renewed.push(draw);
  }
  if (selects.length || links.length || data) apply();

  // A page that is served asks whether the trial has gone on.
  const version = document.querySelector('meta[name="tiltyard-version"]');
  if (version) {
    const news = document.getElementById("news");
    const ask = async () => {
      try {
        const answer = await fetch("/_version");
        if (answer.ok && (await answer.text()) !== version.content) {
          const link = make("a", "Show them");
          link.href = location.href;
          link.addEventListener("click", (event) => { event.preventDefault(); location.reload(); });
          news.replaceChildren("There are new results. ", link);
          news.hidden = false;
          return;
        }
      } catch { /* the server has ended; the page stays */ }
      setTimeout(ask, 3000);
    };
    setTimeout(ask, 3000);
  }
})();
