import io.grpc.Grpc;
import io.grpc.HandlerRegistry;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.internal.GrpcUtil;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A backend that fails as each call asks for in its metadata (docs/interop.md, The flaky backend). It tells its port in one
 * line of JSON on standard output and ends with its standard input.
 */
public final class JavaFlaky {
  /** What came of the attempts of one call id. */
  private static final class Seen {
    final List<String> previous = new ArrayList<>();
    int cancelled;
  }

  private static final class RawBytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }

  private static final String SERVICE = "hedgerow.interop.Flaky/";
  private static final Metadata.Key<byte[]> DETAILS = binary("grpc-status-details-bin");

  private final Map<String, Seen> calls = new HashMap<>();

  private static Metadata.Key<byte[]> binary(String key) {
    return Metadata.Key.of(key, Metadata.BINARY_BYTE_MARSHALLER);
  }

  private static Metadata.Key<String> ascii(String key) {
    return Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER);
  }

  private static int number(Metadata headers, String key) {
    String value = headers.get(ascii(key));
    return value == null ? 0 : Integer.parseInt(value);
  }

  private Seen seen(Metadata headers) {
    return calls.computeIfAbsent(String.valueOf(headers.get(ascii("call-id"))), id -> new Seen());
  }

  /** Answers when the call has as many attempts and cancels as the metadata asks for. */
  private synchronized String tell(Metadata headers) throws InterruptedException {
    Seen seen = seen(headers);
    while (seen.previous.size() < number(headers, "wait-attempts")
        || seen.cancelled < number(headers, "wait-cancelled")) {
      wait();
    }
    return "previous=" + String.join(",", seen.previous) + " cancelled=" + seen.cancelled;
  }

  private synchronized int begin(Metadata headers) {
    Seen seen = seen(headers);
    String previous = headers.get(ascii("grpc-previous-rpc-attempts"));
    seen.previous.add(previous == null ? "0" : previous);
    notifyAll();
    return seen.previous.size();
  }

  private synchronized void cancelled(Metadata headers) {
    seen(headers).cancelled++;
    notifyAll();
  }

  private static Metadata echoed(Metadata headers) {
    Metadata echoed = new Metadata();
    for (String key : headers.keys()) {
      if (!key.startsWith("echo-")) {
        continue;
      }
      if (key.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
        headers.getAll(binary(key)).forEach(value -> echoed.put(binary(key), value));
      } else {
        headers.getAll(ascii(key)).forEach(value -> echoed.put(ascii(key), value));
      }
    }
    return echoed;
  }

  private static void fail(ServerCall<byte[], byte[]> call, Metadata headers) {
    if (headers.containsKey(ascii("early-headers"))) {
      Metadata early = new Metadata();
      early.put(ascii("early"), "yes");
      call.sendHeaders(early);
    }
    Metadata trailers = new Metadata();
    byte[] details = headers.get(binary("details-bin"));
    if (details != null) {
      trailers.put(DETAILS, details);
    }
    call.close(Status.UNAVAILABLE.withDescription("ä\nb"), trailers);
  }

  private static void answer(ServerCall<byte[], byte[]> call, Metadata headers, String text) {
    if (headers.containsKey(ascii("answer-gzip"))) {
      call.setCompression("gzip");
      call.setMessageCompression(true);
    }
    call.sendHeaders(echoed(headers));
    call.sendMessage(text.getBytes(StandardCharsets.UTF_8));
    call.close(Status.OK, echoed(headers));
  }

  private ServerCall.Listener<byte[]> handle(ServerCall<byte[], byte[]> call, Metadata headers) {
    String method = call.getMethodDescriptor().getFullMethodName().substring(SERVICE.length());
    boolean asks = method.equals("Seen");
    int attempt = asks ? 0 : begin(headers);
    call.request(Integer.MAX_VALUE);
    return new ServerCall.Listener<byte[]>() {
      private final ByteArrayOutputStream all = new ByteArrayOutputStream();

      @Override
      public void onMessage(byte[] message) {
        all.writeBytes(message);
      }

      @Override
      public void onHalfClose() {
        if (asks) {
          try {
            answer(call, headers, tell(headers));
          } catch (InterruptedException error) {
            call.close(Status.CANCELLED, new Metadata());
          }
        } else if (attempt <= number(headers, "fail-first")) {
          fail(call, headers);
        } else if (!headers.containsKey(ascii("hang"))) {
          String begin = all.toString(StandardCharsets.UTF_8);
          answer(call, headers, method + " " + all.size() + " " + begin.substring(0, Math.min(16, begin.length())));
        }
      }

      @Override
      public void onCancel() {
        if (!asks) {
          cancelled(headers);
        }
      }
    };
  }

  private final class AnyMethod extends HandlerRegistry {
    @Override
    public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
      MethodDescriptor<byte[], byte[]> method =
          MethodDescriptor.<byte[], byte[]>newBuilder()
              .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(name)
              .setRequestMarshaller(new RawBytes())
              .setResponseMarshaller(new RawBytes())
              .build();
      return name.startsWith(SERVICE) ? ServerMethodDefinition.create(method, JavaFlaky.this::handle) : null;
    }
  }

  public static void main(String[] args) throws IOException {
    JavaFlaky flaky = new JavaFlaky();
    Server server =
        Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
            .fallbackHandlerRegistry(flaky.new AnyMethod())
            .build()
            .start();
    System.out.println("{\"port\":" + server.getPort() + ",\"version\":\"" + GrpcUtil.IMPLEMENTATION_VERSION + "\"}");
    System.in.transferTo(OutputStream.nullOutputStream());
    System.exit(0);
  }
}
