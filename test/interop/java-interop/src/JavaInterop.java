package io.grpc.testing.integration;

import com.google.gson.Gson;
import io.grpc.internal.GrpcUtil;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Runs grpc-java's own interop server and the cases of its client in one process, as it is told on standard input; in their
 * package, as what they do is not public.
 *
 * <pre>
 * {"seq":1,"op":"version"}  → {"seq":1,"message":"1.2.3"}
 * {"seq":2,"op":"serve"}  → {"seq":2,"port":1234}
 * {"seq":3,"op":"case","name":"empty_unary","port":1234}  → {"seq":3} or {"seq":3,"failure":"why"}
 * </pre>
 */
public final class JavaInterop {
  private static final class Request {
    int seq;
    String op = "";
    String name = "";
    int port;
  }

  private static final Gson GSON = new Gson();

  private static void invoke(TestServiceClient client, String name) throws Throwable {
    Method method = TestServiceClient.class.getDeclaredMethod(name);
    method.setAccessible(true);
    try {
      method.invoke(client);
    } catch (InvocationTargetException thrown) {
      throw thrown.getCause();
    }
  }

  private static void runCase(String name, int port) throws Throwable {
    TestServiceClient client = new TestServiceClient();
    client.parseArgs(
        new String[] {
          "--server_host=127.0.0.1", "--server_port=" + port, "--use_tls=false", "--test_case=" + name
        });
    client.setUp();
    try {
      invoke(client, "run");
    } finally {
      invoke(client, "tearDown");
    }
  }

  private static int serve() throws Exception {
    TestServiceServer server = new TestServiceServer();
    server.parseArgs(new String[] {"--port=0", "--use_tls=false"});
    server.start();
    return server.getPort();
  }

  public static void main(String[] args) throws IOException {
    PrintStream answers = System.out;
    // The client tells on standard output what it runs.
    System.setOut(System.err);
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Request request = GSON.fromJson(line, Request.class);
      Map<String, Object> reply = new HashMap<>();
      reply.put("seq", request.seq);
      try {
        if (request.op.equals("version")) {
          reply.put("message", GrpcUtil.IMPLEMENTATION_VERSION);
        } else if (request.op.equals("serve")) {
          reply.put("port", serve());
        } else if (request.op.equals("case")) {
          runCase(request.name, request.port);
        } else {
          reply.put("fault", "cannot do op " + request.op);
        }
      } catch (Throwable thrown) {
        reply.put("failure", String.valueOf(thrown));
      }
      answers.println(GSON.toJson(reply));
      answers.flush();
    }
    System.exit(0);
  }
}
