/** The web page in a real browser. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { httpHandler, uiHandler } from '../../../src/endpoints/http/serve.js';
import { anyLength, identity, row, serve, until } from '../../support/harness.js';
import { noBrowser } from './browser.js';
import { opened, served, useBrowser } from './harness.js';

void suite('in a browser', { skip: noBrowser ?? false }, () => {
  useBrowser();

  void test('models, states, charts and loads are shown', async (t) => {
    const server = await serve(t, { echo: identity(), other: identity() });
    const timer = setInterval(() => {
      void server.infer('echo', { x: row() }).catch(() => undefined);
    }, 5);
    t.after(() => {
      clearInterval(timer);
    });
    const page = await opened(t, `${await served(t, server)}/ui`);
    await page.getByText('ready, 2 of 2 models ready').waitFor();
    assert.match(page.url(), /\/ui\/$/);
    await page.getByLabel('Read every').selectOption('1000');
    const cells = page.getByRole('row', { name: /^echo/ }).getByRole('cell');
    await until(
      async () =>
        (await page.evaluate(
          `Number(document.querySelector('#models tbody tr td:nth-child(4)')?.textContent) > 0`,
        )) === true,
    );
    assert.equal(await cells.nth(2).textContent(), 'READY');
    assert.ok(Number(await cells.nth(5).textContent()) > 0, 'p50');
    const chart = page.getByRole('img', { name: /^Throughput, requests\/s; now answered [1-9]/ });
    await chart.waitFor();
    assert.equal(await page.getByRole('img').count(), 3);
    assert.match(
      (await page.locator('#loads').textContent()) ?? '',
      /echo, version 1: READY, loaded in [\d.]+ s/,
    );
    await page.getByRole('button', { name: 'echo' }).click();
    await page.getByRole('heading', { name: 'Model echo, version 1' }).waitFor();
    await page.getByRole('row', { name: 'x input FP32' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'echo' }).getAttribute('aria-pressed'), 'true');
  });

  void test('a request now and then is a mark, and charts without requests have an axis to 1', async (t) => {
    const server = await serve(t, { echo: identity() });
    const page = await opened(t, `${await served(t, server)}/ui/`);
    await page.getByLabel('Read every').selectOption('1000');
    await page.getByRole('img', { name: /^Latency, ms; .*; the axis ends at 1$/ }).waitFor();
    await page.waitForTimeout(1500);
    await server.infer('echo', { x: row() });
    const chart = page.getByRole('img', { name: /^Batch size, rows;/ });
    await until(async () => (await chart.locator('circle').count()) === 1);
  });

  void test('names with HTML are text', async (t) => {
    const server = await serve(t, { echo: identity() });
    const name = `<img src=x onerror="document.title='owned'">`;
    const page = await opened(t, `${await served(t, server)}/ui/`);
    await page.route('**/ui/state', async (route) => {
      const response = await route.fetch();
      const state = (await response.json()) as { index: unknown[]; loads: unknown[] };
      state.index.push({ name, version: '1', state: 'UNAVAILABLE', reason: '<script>1</script>' });
      state.loads.push({ time: new Date().toISOString(), model: name, state: '<b>bold</b>' });
      await route.fulfill({ json: state });
    });
    await page.getByRole('button', { name: '<img src=x' }).waitFor();
    await page.locator('#loads').getByText('<b>bold</b>').waitFor();
    await page.getByRole('button', { name: '<img src=x' }).click();
    await page.getByRole('heading', { name: '<img src=x' }).first().waitFor();
    assert.equal(await page.locator('main img, main b:not(figcaption b), main script').count(), 0);
    assert.notEqual(await page.title(), 'owned');
  });

  void test('the policy lets nothing run but the script of the page', async (t) => {
    const server = await serve(t, { echo: identity() });
    const page = await opened(t, `${await served(t, server)}/ui/`, { refuses: true });
    await page.getByText('1 of 1 models ready').waitFor();
    // What a page has, as text.
    const blocked = (await page.evaluate(`(async () => {
      const seen = [];
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => seen.push(effectiveDirective));
      const script = document.createElement('script');
      try {
        script.text = 'document.title = "owned"';
      } catch {
        seen.push('trusted types');
      }
      const image = document.createElement('img');
      image.src = 'http://127.0.0.2/a.png';
      document.body.append(image);
      await fetch('http://127.0.0.2/').catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 200));
      image.remove();
      return seen;
    })()`)) as string[];
    assert.ok(blocked.includes('trusted types'), String(blocked));
    assert.ok(blocked.includes('img-src') && blocked.includes('connect-src'), String(blocked));
    assert.notEqual(await page.title(), 'owned');
  });

  void test('a page of another site can neither read nor send', async (t) => {
    const server = await serve(t, { echo: identity() });
    const target = await served(t, server);
    const foreign = createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>foreign</title>');
    }).listen(0, '127.0.0.1');
    await once(foreign, 'listening');
    t.after(() => {
      foreign.close();
      foreign.closeAllConnections();
    });
    // It listens on a port.
    const page = await opened(t, `http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`, {
      refuses: true,
    });
    // The states of promises.
    const tried = (await page.evaluate(`(async (url) => {
      const body = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":[1]}]}';
      const path = url + '/ui/v2/models/echo/infer';
      const all = [
        fetch(url + '/ui/state'),
        fetch(path, { method: 'POST', body, mode: 'no-cors' }),
        fetch(path, { method: 'POST', body, headers: { 'tritonts-ui': '1' } }),
      ];
      return (await Promise.allSettled(all)).map(({ status }) => status);
    })(${JSON.stringify(target)})`)) as string[];
    assert.equal(tried[0], 'rejected');
    assert.equal(tried[2], 'rejected');
    assert.equal(server.statistics('echo')[0]?.inference_stats.success.count, 0);
  });

  void test('a restricted server asks for its secret', async (t) => {
    const server = await serve(t, { echo: identity(anyLength) });
    const url = await served(t, server, {
      restricted: [
        { protocols: ['ui', 'statistics'], header: 'admin-key', value: 'secret' },
        { protocols: ['inference'], header: 'infer-key', value: 'other' },
      ],
    });
    const page = await opened(t, `${url}/ui/`);
    const secret = page.getByLabel('Secret of the header');
    await secret.fill('wrong');
    await page.getByRole('button', { name: /^Use$/ }).click();
    await page.getByText("no answer: This API is restricted, expecting header 'admin-key'").waitFor();
    await secret.fill('secret');
    await page.getByRole('button', { name: /^Use$/ }).click();
    await page.getByText('1 of 1 models ready').waitFor();
    await page.getByRole('button', { name: 'echo' }).click();
    await page.getByLabel('Shape').fill('1, 1');
    await page.getByLabel('Elements as a list').fill('[7]');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText("expecting header 'infer-key'").waitFor();
    // Readings, which need it not, leave the question.
    await page.waitForTimeout(3000);
    assert.equal(await page.evaluate(`document.getElementById('access').hidden`), false);
    await page.getByLabel('Secret of the header').fill('other');
    await page.getByRole('button', { name: /^Use$/ }).click();
    await page.getByLabel('Shape').fill('1, 1');
    await page.getByLabel('Elements as a list').fill('[7]');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('[7]').waitFor();
  });

  void test('the keyboard is enough, and each control has a name', async (t) => {
    const server = await serve(t, { echo: identity() });
    const page = await opened(t, `${await served(t, server)}/ui/`);
    await page.getByRole('button', { name: 'echo' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement?.textContent'), 'Skip to the models');
    await page.getByRole('button', { name: 'echo' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Send' }).waitFor();
    // Rows stay in their places with each reading, and so does the focus.
    await page.waitForTimeout(2500);
    assert.equal(await page.evaluate('document.activeElement?.textContent'), 'echo');
    const nameless = await page.evaluate(`Array.from(document.querySelectorAll('input, select, textarea'))
      .filter((control) => control.closest('label') === null)
      .map(({ outerHTML }) => outerHTML)`);
    assert.deepEqual(nameless, []);
    const pause = page.getByRole('button', { name: 'Pause' });
    await pause.press('Space');
    assert.equal(await pause.getAttribute('aria-pressed'), 'true');
  });

  for (const scheme of ['light', 'dark'] as const)
    void test(`text has contrast enough (${scheme})`, async (t) => {
      const server = await serve(t, { echo: identity() });
      const page = await opened(t, `${await served(t, server)}/ui/`, { scheme });
      await page.getByRole('button', { name: 'echo' }).click();
      await page.getByRole('button', { name: 'Send' }).waitFor();
      // The formula of WCAG 2.
      const least = (await page.evaluate(`(() => {
        const light = (text) => {
          const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map((byte) => {
            const share = byte / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (element) => {
          const colour = element === null ? 'rgb(255, 255, 255)' : getComputedStyle(element).backgroundColor;
          return colour === 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : colour;
        };
        let worst = { ratio: 21, text: '' };
        for (const element of document.querySelectorAll('body *')) {
          const own = Array.from(element.childNodes).some(
            (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== '',
          );
          if (!own || element.closest('[hidden], noscript, script') !== null) continue;
          const style = getComputedStyle(element);
          const [a, b] = [light(element instanceof SVGElement ? style.fill : style.color), light(behind(element))];
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (ratio < worst.ratio) worst = { ratio, text: element.outerHTML.slice(0, 120) };
        }
        return worst;
      })()`)) as { readonly ratio: number; readonly text: string };
      assert.ok(least.ratio >= 4.5, `${least.ratio}: ${least.text}`);
    });

  void test('a program has the page beside its own paths', async (t) => {
    const server = await serve(t, { echo: identity() });
    const [ui, calls] = [uiHandler(server), httpHandler(server)];
    const own = createServer((request, response) => {
      ui(request, response, () => {
        calls(request, response, () => {
          response.end('own');
        });
      });
    }).listen(0, '127.0.0.1');
    await once(own, 'listening');
    t.after(() => {
      own.close();
      own.closeAllConnections();
    });
    // It listens on a port.
    const url = `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
    const page = await opened(t, `${url}/ui`);
    await page.getByText('1 of 1 models ready').waitFor();
    assert.equal(await (await fetch(`${url}/`)).text(), 'own');
    assert.equal((await fetch(`${url}/v2/health/ready`)).status, 200);
  });

  void test('a model that is loaded again, and one that goes, are in the list of loads', async (t) => {
    const server = await serve(t, { echo: identity(), gone: identity() }, { modelControlMode: 'explicit' });
    await server.loadModel('echo');
    await server.loadModel('gone');
    const page = await opened(t, `${await served(t, server)}/ui/`);
    await page.getByLabel('Read every').selectOption('1000');
    const loads = page.locator('#loads li');
    await until(
      async () => (await page.evaluate(`document.querySelectorAll('#loads li').length === 2`)) === true,
    );
    await server.unloadModel('gone');
    await loads.filter({ hasText: 'gone, version 1: UNAVAILABLE: unloaded' }).waitFor();
    await server.loadModel('echo', { force: true });
    await until(
      async () =>
        (await page.evaluate(
          `Array.from(document.querySelectorAll('#loads li')).filter((one) => one.textContent.includes('echo')).length === 2`,
        )) === true,
    );
  });
});
